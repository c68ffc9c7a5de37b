import { createServer } from 'node:http';
import { createUIMessageStream, pipeUIMessageStreamToResponse, type UIMessageChunk } from 'ai';
import { adkRuns } from '../servers/adk-runs.ts';
import { listen, readPost, type Start } from '../servers/start.ts';

/** ADK with the AI SDK's helpers for a stream, as its documentation shows them. */
export const start: Start = (parts) => {
  const run = adkRuns(parts);
  return listen(
    createServer(async (request, response) => {
      const posted = await readPost(request);
      const stream = createUIMessageStream({
        async execute({ writer }) {
          let isOpen = false;
          const write = (chunk: UIMessageChunk): void => writer.write(chunk);
          const close = (): void => {
            if (isOpen) write({ type: 'text-end', id: '0' });
            isOpen = false;
          };
          await run(posted, ({ partial, content }) => {
            for (const { text, functionCall, functionResponse } of content?.parts ?? []) {
              if (partial && text) {
                if (!isOpen) write({ type: 'text-start', id: '0' });
                isOpen = true;
                write({ type: 'text-delta', id: '0', delta: text });
              } else if (functionCall?.name === 'adk_request_confirmation') {
                const { originalFunctionCall } = functionCall.args as {
                  originalFunctionCall: { id: string };
                };
                const approvalId = functionCall.id ?? '';
                write({ type: 'tool-approval-request', approvalId, toolCallId: originalFunctionCall.id });
              } else if (functionCall) {
                close();
                const call = { toolCallId: functionCall.id ?? '', toolName: functionCall.name ?? '' };
                write({ type: 'tool-input-start', ...call });
                write({ type: 'tool-input-available', ...call, input: functionCall.args });
              } else if (functionResponse?.name === 'get_weather') {
                const { id: toolCallId = '', response: output } = functionResponse;
                write({ type: 'tool-output-available', toolCallId, output });
              }
            }
          });
          close();
        },
      });
      pipeUIMessageStreamToResponse({ response, stream });
    }),
  );
};
