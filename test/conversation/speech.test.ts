import { createEvent, type Event } from '@google/adk';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/adk/for-server.ts';
import { World } from './bare/world.ts';

/** A conversation with a live model and one connected client. */
function talk() {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  const says = (event: Partial<Event>) =>
    world.push({ type: 'event', n: 1, event: createEvent(event), view: {} as RunView });
  return {
    world,
    microphone: (action: 'start' | 'stop', detection: 'client' | 'server') =>
      world.push({ type: 'microphone', action, detection, from: 'page' }),
    sound: () => world.push({ type: 'media', blob: { mimeType: 'audio/pcm', data: 'AAAA' }, from: 'page' }),
    understands: (text: string, finished = false) => says({ inputTranscription: { text, finished } }),
    answers: (text: string) =>
      says({ author: 'assistant', content: { role: 'model', parts: [{ text }] }, partial: true }),
    completes: () => says({ turnComplete: true }),
  };
}

describe('whether someone is in the middle of saying something', () => {
  it('is told by a client that marks it, until the model answers', () => {
    const { world, microphone, sound, answers, completes } = talk();
    microphone('start', 'client');
    expect(world.isSpokenTo).toBe(true);
    sound();
    completes();
    expect(world.isSpokenTo).toBe(true);
    microphone('stop', 'client');
    expect(world.isSpokenTo).toBe(true);
    answers('Yes?');
    expect(world.isSpokenTo).toBe(false);
  });

  it('is told by what the model understands, when the microphone stays on', () => {
    const { world, microphone, sound, understands, completes } = talk();
    microphone('start', 'server');
    sound();
    expect(world.isSpokenTo).toBe(false);
    understands('What is');
    expect(world.isSpokenTo).toBe(true);
    understands('What is new?', true);
    expect(world.isSpokenTo).toBe(true);
    completes();
    expect(world.isSpokenTo).toBe(false);
  });

  it('is over when it was nothing after all', () => {
    const { world, sound, understands } = talk();
    sound();
    understands('Hm');
    understands('', true);
    expect(world.isSpokenTo).toBe(false);
  });

  it('is over when nobody answers for a while', () => {
    const { world, microphone, sound } = talk();
    microphone('start', 'client');
    sound();
    world.now += 60_000;
    expect(world.isSpokenTo).toBe(true);
    microphone('stop', 'client');
    world.now += 5000;
    expect(world.isSpokenTo).toBe(true);
    world.now += 5000;
    expect(world.isSpokenTo).toBe(false);
  });

  it('does not begin again with what is understood late, while it is answered', () => {
    const { world, sound, understands, answers } = talk();
    sound();
    understands('Tell');
    answers('Once ');
    understands('Tell me', true);
    expect(world.isSpokenTo).toBe(false);
  });

  it('is over when nobody hears it any more', () => {
    const { world, microphone, sound } = talk();
    microphone('start', 'client');
    sound();
    world.push({ type: 'run-ended', n: 1, error: null });
    expect(world.isSpokenTo).toBe(false);
  });

  it('goes on in a run that is opened in another way, if it is still being said', () => {
    const { world, microphone, sound } = talk();
    microphone('start', 'server');
    sound();
    microphone('start', 'client');
    world.push({ type: 'run-ended', n: 1, error: null });
    expect(world.isSpokenTo).toBe(true);
    microphone('stop', 'client');
    microphone('start', 'server');
    world.push({ type: 'run-ended', n: 2, error: null });
    expect(world.isSpokenTo).toBe(false);
  });
});

/** A conversation in which a call of a live model waits for the approval of the user, who has typed one message. */
function beside() {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  const deny = () => {
    const [toolCallId = ''] = world.clientView.calls.keys();
    world.answer('bidi', [{ kind: 'decision', toolCallId, approved: false }]);
    run.complete();
  };
  return { world, run, deny };
}

describe('speech beside an open call', () => {
  it('[B14] is answered in a message of its own, which ends while the call is open', () => {
    const { world, run, deny } = beside();
    run.complete();
    run.heard();
    run.words();
    run.complete();
    const { messages } = world.clientView;
    expect([...messages.values()].map(({ isOpen }) => isOpen)).toEqual([true, false]);
    deny();
    expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  });

  it('[B14] is answered in a message of its own, also when it stopped the model', () => {
    const { world, run, deny } = beside();
    run.words();
    run.heard();
    run.stop();
    run.words();
    run.complete();
    const { messages } = world.clientView;
    expect([...messages.values()].map(({ isOpen }) => isOpen)).toEqual([true, false]);
    deny();
    expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  });

  it('[B16] that stops the model leaves a typed message waiting until the model has ended its turn', () => {
    const { world, run } = beside();
    run.words();
    const event = createEvent({ interrupted: true });
    world.push({ type: 'event', n: 1, event, view: {} as RunView });
    const message = world.say('bidi');
    expect(message.is).toBe('waiting');
    world.push({ type: 'event', n: 1, event: createEvent({ turnComplete: true }), view: {} as RunView });
    expect(message.is).toBe('begun');
  });
});

it('[B28d] the text of a message that the user spoke into is cut when the agent has ended it', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  run.words();
  run.sound();
  world.interrupt({ messageId: undefined, playedMs: 0, isSpeech: true });
  run.words();
  run.complete();
  expect(world.clientView.chunks.slice(-2)).toMatchObject([
    { type: 'finish', finishReason: 'stop' },
    { type: 'data-heard', data: { length: 0 } },
  ]);
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});
