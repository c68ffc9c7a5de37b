import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { expect, onTestFinished, test } from 'vitest';
import { createReceiver } from '../../examples/webhook/receiver.ts';
import { sign, verify } from '../../examples/webhook/signature.ts';
import { webhook } from '../../examples/webhook/webhook.ts';
import { createDuologue, type ServerEvent } from '../../src/server/index.ts';
import { FakeTime, scriptModel, testClient } from '../../src/testing/index.ts';

setLogLevel(LogLevel.ERROR);

const SECRET = 'a secret of the test, which is long enough';

/** A receiver on a port of its own, with the events that it handled. `fail`: how many it fails to handle first. */
async function receiver(time: FakeTime, fail = 0) {
  const handled: ServerEvent[] = [];
  let failures = fail;
  const server = createReceiver(
    SECRET,
    async (event) => {
      if (failures-- > 0) throw new Error('The database of the receiver is down.');
      handled.push(event);
    },
    () => time.now(),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { handled, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('the webhook example delivers signed events, and again when the receiver fails', async () => {
  const time = new FakeTime();
  const { handled, url } = await receiver(time, 1);
  const warnings: unknown[] = [];
  const logger = { info() {}, warn: (_: string, fields?: unknown) => warnings.push(fields), error() {} };
  const agent = new LlmAgent({ name: 'assistant', model: scriptModel(['Hello.']) });
  const duologue = createDuologue({ agent, clock: time, logger });
  onTestFinished(() => duologue.close());
  const happened: ServerEvent[] = [];
  duologue.on('turn-finished', (event) => happened.push(event));
  const deliver = webhook(url, SECRET, () => time.now());
  duologue.subscribe({ name: 'webhook', events: ['turn-finished'], deliver });
  await testClient(duologue).say('Hi');
  while (warnings.length === 0) await setImmediate();
  expect(warnings).toMatchObject([
    { subscription: 'webhook', error: 'Error: the receiver answered 503', attempt: 1 },
  ]);
  // Later than a signature is good for: the second attempt has one of its own.
  while (handled.length === 0) {
    time.advance(400_000);
    await setImmediate();
  }
  expect(handled).toEqual(happened);
});

test('the receiver of the webhook example refuses what is not signed, changed or old, and handles an event once', async () => {
  const time = new FakeTime();
  const { handled, url } = await receiver(time);
  const body = JSON.stringify({ id: 'event-1', name: 'turn-finished' });
  const post = async (text: string, { timestamp, signature }: { timestamp: string; signature: string }) => {
    const headers = { 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    return (await fetch(url, { method: 'POST', headers, body: text })).status;
  };
  const signed = sign(SECRET, body, time.now());
  expect(await post(`${body} `, signed)).toBe(401);
  expect(await post(body, { ...signed, signature: signed.signature.replace(/.$/, 'x') })).toBe(401);
  expect(await post(body, { ...signed, timestamp: String(Number(signed.timestamp) + 1) })).toBe(401);
  expect(await post(body, sign('another secret', body, time.now()))).toBe(401);
  expect((await fetch(url, { method: 'POST', body })).status).toBe(401);
  expect(await post('x'.repeat(70_000), signed)).toBe(413);
  expect(handled).toEqual([]);
  expect([await post(body, signed), await post(body, signed)]).toEqual([200, 200]);
  expect(handled).toHaveLength(1);
  expect(verify(SECRET, body, signed, time.now() + 300_000)).toBe(true);
  time.advance(301_000);
  expect(await post(body, signed)).toBe(401);
});
