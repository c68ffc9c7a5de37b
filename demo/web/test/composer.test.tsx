// @vitest-environment jsdom
import { act } from 'react';
import { describe, expect, test, vi } from 'vitest';
import { DropZone } from '../src/composer/drop-zone.tsx';
import { useKeptText } from '../src/composer/kept-text.ts';
import { heldBy } from '../src/composer/send-queue.ts';
import { mount, mountHook } from './support/mount.tsx';

describe('a message that was written', () => {
  type Held = Parameters<typeof heldBy>[0];
  const chat = (
    status: Held['status'],
    connection: Held['connection']['status'] = 'live',
    session: Held['session']['status'] = 'ready',
    isQuestionOpen = false,
    after: Parameters<typeof heldBy>[2] = null,
  ) =>
    heldBy(
      { status, connection: { status: connection }, session: { status: session } } as Held,
      isQuestionOpen,
      after,
    );

  test.each([
    ['goes at once when nothing is in its way', chat('ready'), null],
    ['goes over a connection that is being made', chat('ready', 'connecting'), null],
    ['waits after an answer that was cut off', chat('ready', 'live', 'ready', true, 'cut'), 'cut'],
    ['waits when it could not be sent before', chat('ready', 'idle', 'ready', false, 'unsent'), 'unsent'],
    ['waits for the answer before it', chat('streaming'), 'answer'],
    ['waits for what was said before', chat('ready', 'live', 'loading'), 'answer'],
    ['waits while the one before it was refused', chat('error'), 'error'],
    ['waits for the network', chat('ready', 'offline'), 'network'],
    ['waits until the conversation is used here', chat('ready', 'taken-over'), 'elsewhere'],
    ['waits until the person connects', chat('ready', 'closed'), 'closed'],
    ['waits while it would cancel an open question', chat('ready', 'idle', 'ready', true), 'approval'],
    ['waits for the network first', chat('error', 'reconnecting'), 'network'],
  ])('%s', (_, held, expected) => {
    expect(held).toBe(expected);
  });
});

describe('something that is dropped', () => {
  const picture = new File(['a'], 'a.png');

  test.each([
    ['taken, when it is a file on the conversation', 'main p', ['Files'], [[picture]], true],
    ['refused, when it is a file beside the conversation', 'body', ['Files'], [], true],
    ['left to the box that it is dropped on, when it is text', 'main p', ['text/plain'], [], false],
  ])('is %s', async (_, place, types, taken, isPrevented) => {
    const onFiles = vi.fn();
    await mount(
      <DropZone onFiles={onFiles} isCovered={false} most={4}>
        <p />
      </DropZone>,
    );
    for (const type of ['dragover', 'drop']) {
      const event = Object.assign(new Event(type, { bubbles: true, cancelable: true }), {
        dataTransfer: { types, files: types.includes('Files') ? [picture] : [] },
      });
      await act(async () => document.querySelector(place)?.dispatchEvent(event));
      expect([type, event.defaultPrevented]).toEqual([type, isPrevented]);
    }
    expect(onFiles.mock.calls.flat()).toEqual(taken);
  });
});

describe('a text that was not sent', () => {
  const box = (sessionId: string | null) => mountHook(() => useKeptText(sessionId));
  const write = (hook: Awaited<ReturnType<typeof box>>, text: string) =>
    act(async () => hook.result[1](text));

  test('is there again when its conversation is, and in no other', async () => {
    sessionStorage.clear();
    await write(await box('a'), 'one');
    await write(await box(null), 'two');
    expect([(await box('a')).result[0], (await box('b')).result[0], (await box(null)).result[0]]).toEqual([
      'one',
      '',
      'two',
    ]);
  });

  test('goes with a conversation that begins', async () => {
    sessionStorage.clear();
    const hook = await box(null);
    await write(hook, 'one');
    await hook.again(() => useKeptText('a'));
    expect([(await box('a')).result[0], (await box(null)).result[0]]).toEqual(['one', '']);
  });

  test('is forgotten when it is sent', async () => {
    sessionStorage.clear();
    const hook = await box('a');
    await write(hook, 'one');
    await write(hook, '');
    expect([(await box('a')).result[0], sessionStorage.length]).toEqual(['', 0]);
  });
});
