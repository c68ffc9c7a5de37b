import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { ManualClock } from '../support/clock.ts';
import { FakeGeminiLive } from '../support/gemini-live/fake-gemini-live.ts';
import { FAMILIES, provideTools } from '../support/gemini-live/provide.ts';
import { decision } from '../support/live.ts';
import { roundTrip } from '../support/settled.ts';
import { TestSocket } from '../support/socket.ts';

const MINUTE = 60_000;

describe('a conversation of an hour, with a socket of the model for every ten minutes', () => {
  it.each(FAMILIES)(
    '[T4] [R6] loses nothing and repeats nothing, an approval and a reload in it included: $name',
    async ({ name: _, ...options }) => {
      const clock = new ManualClock();
      const fake = await FakeGeminiLive.start({ ...options, timer: clock, limitMs: 10 * MINUTE });
      const folder = mkdtempSync(join(tmpdir(), 'duologue-hour-'));
      const store = await openSqliteStore(folder);
      const server = await provideTools(fake, { clock, store, approvalTimeoutMs: null });
      const url = `${server.url.replace('http', 'ws')}/live?session=hour`;
      let socket = new TestSocket(url);
      await socket.opened();
      /** Lets time pass in small steps, so that everyone has their turn in each. */
      const pass = async (ms: number, until: () => boolean = () => false) => {
        for (let passed = 0; passed < ms && !until(); passed += 5000) {
          clock.advance(5000);
          await roundTrip();
        }
      };
      const settle = async (condition: () => boolean) => {
        for (let i = 0; i < 5000 && !condition(); i++) {
          clock.advance(10);
          await roundTrip();
        }
        expect(condition()).toBe(true);
      };
      let dones = 0;
      const ask = async (city: string) => {
        const before = socket.dones;
        socket.say(`weather in ${city}`, `ask-${city}`);
        await settle(() => socket.dones > before);
        dones += 1;
      };
      try {
        const cities = ['Tokyo', 'Osaka', 'Kyoto', 'Nara', 'Kobe', 'Sendai'];
        for (const [index, city] of cities.entries()) {
          await ask(city);
          if (index === 2) {
            // The card is open when the server leaves, and the page is loaded anew in between.
            socket.say('send 30 dollars to Alice', 'pay');
            await settle(() => socket.chunks.some(({ type }) => type === 'tool-approval-request'));
            const sockets = fake.received.length;
            await pass(10 * MINUTE, () => fake.received.length > sockets);
            expect(fake.received.length).toBe(sockets + 1);
            const last = socket.lastId ?? '';
            socket.close();
            await socket.closed();
            socket = new TestSocket(`${url}&last=${last}`);
            await socket.opened();
            const { messages } = (await (await fetch(`${server.url}/sessions/hour`)).json()) as Stored;
            const [card] = messages.flatMap(({ parts }) =>
              parts.flatMap((part) => (part.approval ? [part] : [])),
            );
            socket.send(
              'message',
              decision({ approvalId: card?.approval?.id ?? '', toolCallId: card?.toolCallId ?? '' }),
            );
            await settle(() => socket.dones === 1);
            dones += 1;
          }
          await pass(9.5 * MINUTE);
        }
        expect(server.ran).toEqual([
          'weather Tokyo',
          'weather Osaka',
          'weather Kyoto',
          'pay Alice 30',
          'weather Nara',
          'weather Kobe',
          'weather Sendai',
        ]);
        const { messages } = (await (await fetch(`${server.url}/sessions/hour`)).json()) as Stored;
        const texts = messages.map(({ role, parts }) => [role, parts.map(({ text = '' }) => text).join('')]);
        expect(texts).toHaveLength(14);
        expect(texts.filter(([role]) => role === 'assistant').map(([, text]) => text)).toEqual(
          [...cities.slice(0, 3), 'Alice', ...cities.slice(3)].map((word) => expect.stringContaining(word)),
        );
        expect([dones, fake.sessions.size, fake.refused]).toEqual([7, 1, []]);
        expect(fake.received.length).toBeGreaterThanOrEqual(6);
        expect(server.logged.filter(({ level }) => level !== 'info')).toEqual([]);
      } finally {
        socket.close();
        const closed = server.close();
        await settle(() => fake.open.size === 0);
        await closed;
        await fake.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});

interface Stored {
  messages: {
    role: string;
    parts: { text?: string; toolCallId?: string; approval?: { id: string } }[];
  }[];
}
