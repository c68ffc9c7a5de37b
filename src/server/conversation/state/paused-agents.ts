import type { Message, ToolFacts } from '../../../protocol/index.ts';
import { hasOutcome } from '../../../protocol/tool-call.ts';
import type { CallRecord } from '../../store/store.ts';
import type { Draft } from './messages.ts';
import type { OpenCall, OpenCalls } from './open-calls.ts';

/**
 * Returns the calls that can no longer be answered: an agent that is used as a tool made them, the call of that agent has ended, for instance by an
 * interruption, and their own tools do not run.
 */
export function orphansIn(open: OpenCalls): OpenCall[] {
  return open.all.filter(
    ({ within, hasStarted, state }) =>
      within !== null && !open.get(within) && !hasStarted && state !== 'issuing',
  );
}

/**
 * An agent that is used as a tool is parked while it waits for calls that it made. Makes the calls of such agents ready to run again when all calls
 * inside them have ended. Returns the calls of these agents.
 */
export function resumeAgents({ all }: OpenCalls): OpenCall[] {
  const isWaiting = ({ record }: OpenCall) => all.some(({ within }) => within === record.id);
  return all.filter((call) => {
    if (!call.isPaused || isWaiting(call) || !call.apply('resume')) return false;
    // The approval was used at the first start of the agent. Without an approver, this start checks no sign-in.
    call.setApprover(null);
    return true;
  });
}

/**
 * The steps of messages. A client with the AI SDK's `lastAssistantMessageIs...` helpers looks only at the last step of a message, and sends no answer while a
 * call of that step is open. The call of an agent that is used as a tool stays open until the calls inside the agent have ended. So over SSE the calls inside
 * the agent are announced in a later step than its own call, where that is possible (`beginsWith`).
 */
export class CallSteps {
  /** The calls that were announced since the last step of a message began, and whether each waits for the user or the browser until it ends. */
  private readonly last = new WeakMap<Draft, Map<string, boolean>>();

  /** Records that a call is announced. */
  add(callId: string, facts: ToolFacts, draft: Draft): void {
    this.lastOf(draft).set(callId, mayWait(facts));
  }

  /**
   * Whether a new step begins with a call: an agent made the call, and the call of that agent is in the last step. No new step begins while a call of
   * the last step waits for the user or the browser, because the client would then not send the answer to that call.
   */
  beginsWith({ agents }: CallRecord, draft: Draft): boolean {
    if (!agents?.within) return false;
    const last = this.lastOf(draft);
    const ended = new Set(
      callsIn(draft.message.parts).flatMap((part) => (hasOutcome(part) ? part.toolCallId : [])),
    );
    const isWaiting = [...last].some(([id, waits]) => waits && !ended.has(id));
    if (isWaiting || !last.has(agents.within)) return false;
    last.clear();
    return true;
  }

  private lastOf(draft: Draft): Map<string, boolean> {
    const { parts } = draft.message;
    const from = parts.findLastIndex(({ type }) => type === 'step-start') + 1;
    const last =
      this.last.get(draft) ??
      new Map(callsIn(parts.slice(from)).map((part) => [part.toolCallId, mayWait(part.toolMetadata)]));
    this.last.set(draft, last);
    return last;
  }
}

type CallPart = Extract<Message['parts'][number], { toolCallId: string }> & { toolMetadata?: ToolFacts };

function callsIn(parts: Message['parts']): CallPart[] {
  return parts.filter((part): part is CallPart => 'toolCallId' in part);
}

function mayWait({ runsOn, asks, question }: Partial<ToolFacts> = {}): boolean {
  return asks === true || runsOn === 'client' || question !== undefined;
}
