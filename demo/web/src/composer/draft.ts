import type { Picture } from '../images/accept.ts';

/** A message that was written and is not sent yet. */
export interface Draft {
  id: string;
  text: string;
  pictures: readonly Picture[];
}
