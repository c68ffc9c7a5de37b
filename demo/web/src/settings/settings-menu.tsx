import { onDemand } from '../ui/on-demand.tsx';
import { type Settings, SettingsButton } from './settings-button.tsx';

/** The menu of settings: appearance, language, side panels, and deleting the conversation. */
export const SettingsMenu = onDemand<Settings>(
  () => import('./settings-items.tsx'),
  ({ button, opener }) => <SettingsButton button={button} {...opener} />,
);
