import { onDemand } from '../ui/on-demand.tsx';
import { ConnectionButton, type Travel } from './connection-button.tsx';

/** Says how the connection is, and lets the user choose how messages travel. */
export const ConnectionMenu = onDemand<Travel>(
  () => import('./connection-items.tsx'),
  ({ opener, onChange: _, ...travel }) => <ConnectionButton {...travel} {...opener} />,
);
