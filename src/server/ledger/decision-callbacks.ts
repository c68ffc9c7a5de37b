import type { BaseTool } from '@google/adk';
import { type CallDecider, DuologueTool } from '../../adk/for-server.ts';
import type { Logger } from '../logger.ts';
import type { CallRecord, SessionKey } from '../store/store.ts';
import { decisionIn } from './approvals.ts';

/** The objects and callbacks that `tellTool` uses. */
export interface DecisionCallbackContext {
  key: SessionKey;
  logger: Logger;
  /** Finds the tool of a call; undefined when the agent no longer has it. */
  findTool: (call: CallRecord) => Promise<BaseTool | undefined>;
}

/**
 * Calls `onApproved` or `onDenied` of a tool, after the decision about one of its calls was stored. Never rejects: a failure of the function is
 * logged, and the decision remains. The caller does not wait for the promise, because a slow function must not delay the conversation.
 */
export async function tellTool(
  { key, logger, findTool }: DecisionCallbackContext,
  call: CallRecord,
  decidedBy: CallDecider,
): Promise<void> {
  // The decision about a call that asks for a sign-in gives the call a credential, not an approval. So it has no callback.
  if (call.question?.kind === 'sign-in') return;
  const approved = decisionIn(call) === true;
  const { id: callId, toolName, args, reason } = call;
  try {
    const tool = await findTool(call);
    if (!(tool instanceof DuologueTool) || !tool.hears(approved)) return;
    await tool.decided(args, approved, { callId, sessionId: key.id, user: key.user, decidedBy, reason });
  } catch (error) {
    const name = approved ? 'onApproved' : 'onDenied';
    logger.error(`${name} of the tool "${toolName}" failed: the decision stands; check that function`, {
      session: key.id,
      call: callId,
      error: String(error),
    });
  }
}
