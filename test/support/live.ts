import { afterEach } from 'vitest';
import { type Served, serve } from '../../src/server/adapters/node.ts';
import { type Harness, harness } from './harness.ts';
import { TestSocket } from './socket.ts';

/** A server that listens, with a client for its socket. */
export interface LiveHarness extends Harness {
  served: Served;
  url: string;
  connect(query?: string, options?: ConstructorParameters<typeof TestSocket>[1]): Promise<TestSocket>;
}

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

/** Serves a scripted model on a free port; closed after the test. */
export async function live(...args: Parameters<typeof harness>): Promise<LiveHarness> {
  const made = harness(...args);
  const served = await serve(made.duologue, { port: 0, quiet: true });
  open.push(served);
  const url = `${served.url.replace('http', 'ws')}/live`;
  return {
    ...made,
    served,
    url,
    async connect(query = '', options = {}) {
      const socket = new TestSocket(url + query, options);
      await socket.opened();
      return socket;
    },
  };
}

/** A `message` frame's data that decides about a card. */
export function decision(
  request: { approvalId: string; toolCallId: string },
  approved = true,
  extra: Record<string, unknown> = {},
): object {
  const { toolCallId, approvalId } = request;
  const part = {
    type: 'tool-any',
    toolCallId,
    state: 'approval-responded',
    approval: { id: approvalId, approved },
    ...extra,
  };
  return { messages: [{ id: 'assistant', role: 'assistant', parts: [part] }] };
}
