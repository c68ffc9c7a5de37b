// @vitest-environment jsdom
import { describe, expect, test } from 'vitest';
import { heldBy } from '../src/composer/send-queue.ts';

describe('a message that was written', () => {
  type Held = Parameters<typeof heldBy>[0];
  const chat = (
    status: Held['status'],
    connection: Held['connection']['status'] = 'live',
    session: Held['session']['status'] = 'ready',
  ) => heldBy({ status, connection: { status: connection }, session: { status: session } } as Held);

  test.each([
    ['goes at once when nothing is in its way', chat('ready'), null],
    ['goes over a connection that is being made', chat('ready', 'connecting'), null],
    ['waits for the answer before it', chat('streaming'), 'answer'],
    ['waits for what was said before', chat('ready', 'live', 'loading'), 'answer'],
    ['waits while the one before it was refused', chat('error'), 'error'],
    ['waits for the network', chat('ready', 'offline'), 'network'],
    ['waits until the conversation is used here', chat('ready', 'taken-over'), 'elsewhere'],
    ['waits until the person connects', chat('ready', 'closed'), 'closed'],
    ['waits for the network first', chat('error', 'reconnecting'), 'network'],
  ])('%s', (_, held, expected) => {
    expect(held).toBe(expected);
  });
});
