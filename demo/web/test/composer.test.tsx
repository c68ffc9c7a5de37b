// @vitest-environment jsdom
import { act } from 'react';
import { describe, expect, test, vi } from 'vitest';
import { DropZone } from '../src/composer/drop-zone.tsx';
import { heldBy } from '../src/composer/send-queue.ts';
import { mount } from './support/mount.tsx';

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

describe('something that is dropped', () => {
  const picture = new File(['a'], 'a.png');

  test.each([
    ['taken, when it is a file on the conversation', 'main p', ['Files'], [[picture]], true],
    ['refused, when it is a file beside the conversation', 'body', ['Files'], [], true],
    ['left to the box that it is dropped on, when it is text', 'main p', ['text/plain'], [], false],
  ])('is %s', async (_, place, types, taken, isPrevented) => {
    const onFiles = vi.fn();
    await mount(
      <DropZone onFiles={onFiles}>
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
