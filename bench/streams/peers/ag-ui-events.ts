import { type BaseEvent, EventType } from '@ag-ui/client';
import { CALLS_IN_A_STEP, PAYMENT, WEATHER } from '../load.ts';
import type { Source } from '../source.ts';

/** A whole answer as AG-UI's events, without any agent. */
export async function talk(
  source: Source,
  { threadId, runId, question }: { threadId: string; runId: string; question: string },
  write: (event: BaseEvent) => void,
): Promise<void> {
  const call = (toolCallId: string, toolCallName: string, args: object): void => {
    write({ type: EventType.TOOL_CALL_START, toolCallId, toolCallName } as BaseEvent);
    write({ type: EventType.TOOL_CALL_ARGS, toolCallId, delta: JSON.stringify(args) } as BaseEvent);
    write({ type: EventType.TOOL_CALL_END, toolCallId } as BaseEvent);
  };
  write({ type: EventType.RUN_STARTED, threadId, runId } as BaseEvent);
  for (let step = 0; ; step++) {
    const messageId = `${runId}-${step}`;
    write({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' } as BaseEvent);
    for await (const delta of source.step(question, step)) {
      write({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta } as BaseEvent);
    }
    write({ type: EventType.TEXT_MESSAGE_END, messageId } as BaseEvent);
    if (!source.hasNextStep(question, step)) break;
    const ids = Array.from({ length: CALLS_IN_A_STEP }, (_, n) => `${runId}-${step}-call-${n}`);
    for (const id of ids) call(id, 'get_weather', WEATHER.args);
    for (const toolCallId of ids) {
      write({
        type: EventType.TOOL_CALL_RESULT,
        messageId: `${toolCallId}-result`,
        toolCallId,
        content: JSON.stringify(WEATHER.output),
      } as BaseEvent);
    }
  }
  call(`${runId}-payment`, 'process_payment', PAYMENT);
  write({ type: EventType.RUN_FINISHED, threadId, runId } as BaseEvent);
}
