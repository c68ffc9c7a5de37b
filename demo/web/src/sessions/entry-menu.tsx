import { onDemand } from '../ui/on-demand.tsx';
import { type EntryActions, EntryButton } from './entry-button.tsx';

/** What can be done with a conversation in the list. */
export const EntryMenu = onDemand<EntryActions>(
  () => import('./entry-items.tsx'),
  ({ title, opener }) => <EntryButton title={title} {...opener} />,
);
