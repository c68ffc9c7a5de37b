import { LogLevel, setLogLevel } from '@google/adk';
import { EmbeddedModel } from 'duologue/models';
import { createDuologue } from 'duologue/server';
import { openSqliteStore } from 'duologue/server/sqlite';
import { demoAgent, rules } from './agent.ts';

// Tests parse the output of this process.
setLogLevel(LogLevel.ERROR);

// Run as a program, in the folder given: a server that is killed when a payment was approved, the tool has run, and its
// outcome is about to be stored. Prints the approval request that it sent.
const [folder = ''] = process.argv.slice(2);
const store = await openSqliteStore(folder);
const agent = demoAgent({ model: new EmbeddedModel({ paceMs: 0, rules }), dataDir: folder });
const duologue = createDuologue({ agent, store });

async function post(message: object): Promise<string> {
  const response = await duologue.fetch(
    new Request('http://localhost/stream', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'chat-1', messages: [message] }),
    }),
  );
  return response.text();
}

const asked = await post({ role: 'user', content: 'Send $50 to Hanako' });
const { toolCallId, approvalId } = JSON.parse(
  /^data: (.*"tool-approval-request".*)$/m.exec(asked)?.[1] ?? '{}',
) as Record<string, string>;
process.stdout.write(`${JSON.stringify({ toolCallId, approvalId })}\n`);

store.appendEvent = () => process.kill(process.pid, 'SIGKILL') as never;
await post({
  role: 'assistant',
  parts: [{ type: 'tool-process_payment', toolCallId, approval: { id: approvalId, approved: true } }],
});
