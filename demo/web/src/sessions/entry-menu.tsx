import { onDemand } from '../ui/on-demand.tsx';
import { type EntryActions, EntryButton } from './entry-button.tsx';

/** The button with the menu of a conversation in the list. */
export const EntryMenu = onDemand<EntryActions>(
  () => import('./entry-items.tsx'),
  ({ title, opener }) => <EntryButton title={title} {...opener} />,
);
