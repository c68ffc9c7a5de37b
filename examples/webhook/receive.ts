import { createReceiver } from './receiver.ts';

const { WEBHOOK_SECRET = '' } = process.env;
if (WEBHOOK_SECRET.length < 32) throw new Error('Set WEBHOOK_SECRET to a text of at least 32 characters.');

createReceiver(WEBHOOK_SECRET, async ({ name, id, session }) => {
  process.stdout.write(`${name} ${id} of ${session.user}\n`);
}).listen(4000, '127.0.0.1');
