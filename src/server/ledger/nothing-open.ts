import { ProtocolError } from '../../protocol/index.ts';

/** Answers came to a session in which no call is open. */
export class NothingOpen extends ProtocolError {
  constructor() {
    super('nothing_to_answer', 'The last message answers no call that is open.');
  }
}
