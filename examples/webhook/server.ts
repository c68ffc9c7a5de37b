import { LlmAgent } from '@google/adk';
import { createDuologue } from 'duologue/server';
import { serve } from 'duologue/server/node';
import { openSqliteStore } from 'duologue/server/sqlite';
import { webhook } from './webhook.ts';

const { WEBHOOK_URL = 'http://127.0.0.1:4000', WEBHOOK_SECRET = '' } = process.env;
if (WEBHOOK_SECRET.length < 32) throw new Error('Set WEBHOOK_SECRET to a text of at least 32 characters.');

const duologue = createDuologue({
  agent: new LlmAgent({ name: 'assistant', model: 'gemini-3.8-flash' }),
  store: await openSqliteStore('data'),
});
// Subscribe before the server listens: it keeps events only for the subscriptions that it has.
duologue.subscribe({
  name: 'webhook',
  events: ['turn-finished', 'approval-requested', 'approval-decided', 'session-deleted'],
  deliver: webhook(WEBHOOK_URL, WEBHOOK_SECRET),
  timeoutMs: 10_000,
});
await serve(duologue, { port: 3000 });
