import { onDemand } from '../ui/on-demand.tsx';
import { ConnectionButton, type Travel } from './connection-button.tsx';

/** The state of the connection, with a menu to choose the mode. */
export const ConnectionMenu = onDemand<Travel>(
  () => import('./connection-items.tsx'),
  ({ opener, onChange: _, ...travel }) => <ConnectionButton {...travel} {...opener} />,
);
