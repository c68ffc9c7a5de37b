import { LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { createDuologue } from '../../../src/server/index.ts';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { scriptModel, testClient } from '../../../src/testing/index.ts';

// A server with a subscription whose deliveries never end. It has one turn of a conversation, writes the events that it has to deliver, and waits to be killed.

setLogLevel(LogLevel.ERROR);

const [, , folder = ''] = process.argv;
const agent = new LlmAgent({ name: 'assistant', model: scriptModel(['Hello.']) });
const duologue = createDuologue({ agent, store: await openSqliteStore(folder) });
for (const name of ['session-created', 'turn-started', 'turn-finished'] as const) {
  duologue.on(name, ({ id }) => process.stdout.write(`happened ${name} ${id}\n`));
}
duologue.subscribe({
  name: 'billing',
  events: ['session-created', 'turn-started', 'turn-finished'],
  deliver: async ({ id }) => {
    process.stdout.write(`delivering ${id}\n`);
    await new Promise(() => undefined);
  },
});
process.stdout.write('listening -\n');
await testClient(duologue, { session: 'chat-1' }).say('Hi');
process.stdout.write('answered\n');
setInterval(() => undefined, 60_000);
