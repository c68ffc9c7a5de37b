import { onDemand } from '../ui/on-demand.tsx';
import { PictureButton, type Shown } from './picture-button.tsx';

/** A picture of the conversation. A click shows it at the size of the window. */
export const Picture = onDemand<Shown>(
  () => import('./large-picture.tsx'),
  ({ opener, ...shown }) => <PictureButton {...shown} {...opener} />,
  'dialog',
);
