import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { defineTool } from 'duologue/adk';
import { chooseModel } from 'duologue/models';
import { createDuologue } from 'duologue/server';
import { serve } from 'duologue/server/node';
import { openSqliteStore } from 'duologue/server/sqlite';
import { z } from 'zod';

setLogLevel(LogLevel.ERROR);

// Run as a program, in the folder given: a server with a payment on the model of the environment. Payments are written to the file
// `paid`. With DIES the process is killed after the payment, before it sends the result. Prints its address.
const [folder = ''] = process.argv.slice(2);
const payment = defineTool({
  name: 'process_payment',
  description: 'Pays',
  parameters: z.object({ amount: z.number().positive(), recipient: z.string() }),
  needsApproval: true,
  execute: ({ amount, recipient }) => {
    appendFileSync(join(folder, 'paid'), `${amount} to ${recipient}\n`);
    if (process.env.DIES) process.kill(process.pid, 'SIGKILL');
    return { success: true, recipient, amount };
  },
});
const { model } = await chooseModel(process.env);
const agent = new LlmAgent({ name: 'assistant', model, tools: [payment] });
const duologue = createDuologue({ agent, store: await openSqliteStore(folder), approvalTimeoutMs: null });
const { url } = await serve(duologue, { port: 0, quiet: true });
process.stdout.write(`${url}\n`);
