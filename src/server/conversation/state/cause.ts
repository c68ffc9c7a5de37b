import type { CallDecider, ToolRequest } from '../../../adk/for-server.ts';
import type { PageMetadata } from '../../../protocol/index.ts';
import type { Identity } from '../../access/sign-in.ts';
import type { MessageRequest } from './inputs.ts';

/** What an assistant message answers. */
export interface Cause {
  /** The metadata of the user message; null when it must be looked up in the store. */
  metadata: PageMetadata | null;
  /** What the newest request of the turn lets tools see; null when there is none. */
  request: ToolRequest | null;
}

/** What the state knows of the circumstances of a call. */
export interface Circumstances extends Cause {
  /** The message that shows the call; null when it is unknown. */
  messageId: string | null;
  /** Who approved the call in this process; null when the call needed no approval, or when an earlier process has the decision. */
  decidedBy: CallDecider | null;
}

/**
 * What a message answers. Without a request there is neither metadata nor a request for tools. A queued message of an earlier process, and a message that is continued, have
 * their metadata in the store.
 */
export function causeOf(answered: MessageRequest | undefined): Cause {
  if (!answered) return { metadata: {}, request: null };
  const { request, metadata, continues, isStored } = answered;
  const isElsewhere = continues !== undefined || isStored === true;
  return { metadata: metadata ?? (isElsewhere ? null : {}), request: request.forTools ?? null };
}

/** Who decided, as tools get it: without the token of the user. */
export function deciderOf({ user, application }: Identity): CallDecider {
  return application === undefined ? { user } : { application, person: user };
}
