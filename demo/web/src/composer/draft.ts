import type { Picture } from '../images/accept.ts';

/** A message that the user has written. */
export interface Draft {
  id: string;
  text: string;
  pictures: readonly Picture[];
}
