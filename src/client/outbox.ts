import type { SessionInfo } from '../protocol/chunks.ts';
import { ProtocolError } from '../protocol/errors.ts';

/** A frame that must arrive. */
export interface Letter {
  /** Names the frame, in `requestId` of its data. */
  requestId: string;
  text: string;
  /** The user message in it, when it brings a new one. */
  messageId?: string | undefined;
  /** The calls that it answers. */
  calls?: readonly string[] | undefined;
  /** Sent once and forgotten: only waiting for the connection, not for the server. */
  isFleeting?: true;
}

/** What the server has, as it says when a connection begins. */
export type Received = Partial<Pick<SessionInfo, 'received' | 'open'>>;

type Entry = { letter: Letter; times: number };

const MAX_LETTERS = 64;

/**
 * The frames that must arrive, in order, until it is certain that they did. After a drop nobody knows what the server got:
 * what it says it has is not sent again, nor are answers to calls that no longer wait.
 */
export class Outbox {
  private entries: Entry[] = [];

  /** Keeps a letter; `isSent` when it leaves at once. */
  add(letter: Letter, isSent: boolean): void {
    // Answers are as many as there are calls; what a person types has no end.
    if (!letter.calls && this.entries.length >= MAX_LETTERS) {
      throw new ProtocolError(
        'busy',
        'Too many messages wait for the connection. Try again when it is back.',
      );
    }
    this.entries.push({ letter, times: isSent ? 1 : 0 });
  }

  /** Letters that arrived, or that are no longer wanted. Gives those of them that never left. */
  remove(matches: (letter: Letter) => boolean): Letter[] {
    const unsent = this.entries.filter(({ letter, times }) => times === 0 && matches(letter));
    this.entries = this.entries.filter(({ letter }) => !matches(letter));
    return unsent.map(({ letter }) => letter);
  }

  /** What to send, in order, on a new connection to a server that has this. */
  renew(server: Received): string[] {
    const due = this.entries.filter((entry) => isDue(entry, server));
    for (const entry of due) entry.times++;
    this.entries = due.filter(({ letter }) => letter.isFleeting !== true);
    return due.map(({ letter }) => letter.text);
  }

  get hasRepeated(): boolean {
    return this.entries.some(({ times }) => times > 1);
  }

  clear(): void {
    this.entries = [];
  }
}

function isDue({ letter, times }: Entry, { received, open }: Received): boolean {
  if (times === 0) return true;
  if (received?.some(({ requestId }) => requestId === letter.requestId)) return false;
  if (!letter.calls || open === undefined) return true;
  return letter.calls.some((id) => open.some(({ toolCallId }) => toolCallId === id));
}
