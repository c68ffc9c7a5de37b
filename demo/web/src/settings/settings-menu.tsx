import { onDemand } from '../ui/on-demand.tsx';
import { type Settings, SettingsButton } from './settings-button.tsx';

/** How the page looks and speaks, what stands beside the conversation, and how to be rid of it. */
export const SettingsMenu = onDemand<Settings>(
  () => import('./settings-items.tsx'),
  ({ button, opener }) => <SettingsButton button={button} {...opener} />,
);
