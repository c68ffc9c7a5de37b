import { onDemand } from '../ui/on-demand.tsx';
import { PictureButton, type Shown } from './picture-button.tsx';

/** A picture of the conversation; a press shows it as large as the screen. */
export const Picture = onDemand<Shown>(
  () => import('./large-picture.tsx'),
  ({ opener, ...shown }) => <PictureButton {...shown} {...opener} />,
  'dialog',
);
