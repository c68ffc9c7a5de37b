import { BasePlugin, type Event, LlmAgent, type LlmResponse } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { harness, say } from '../support/harness.ts';
import { partial, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';

const story: ScriptedTurn = [
  partial('Once '),
  partial('upon '),
  partial('a time.'),
  text('Once upon a time.'),
];

/** The chunks that the person gets for the story, whoever looks on. */
const chunks = [
  'start',
  'text-start',
  'text-delta Once ',
  'text-delta upon ',
  'text-delta a time.',
  'text-end',
  'finish',
];

async function told(options: Parameters<typeof harness>[2] = {}): Promise<string[]> {
  const { post } = harness([story], [], options);
  const response = await post(say('tell'));
  return response.chunks.map((chunk) =>
    chunk.type === 'text-delta' ? `${chunk.type} ${chunk.delta}` : chunk.type,
  );
}

/** Sees every event that ADK yields. */
class Watcher extends BasePlugin {
  readonly seen: string[] = [];

  constructor() {
    super('watcher');
  }

  override async onEventCallback({ event }: { event: Event }): Promise<undefined> {
    const [part] = event.content?.parts ?? [];
    this.seen.push(`${event.partial ? 'partial' : 'whole'} ${part?.text}`);
  }
}

describe('partial texts', () => {
  it('[S3] reach the person as they come, and once', async () => {
    expect(await told()).toEqual(chunks);
  });

  it('pass through ADK when a plugin of the application looks at events', async () => {
    const watcher = new Watcher();
    expect(await told({ plugins: [watcher] })).toEqual(chunks);
    expect(watcher.seen).toEqual([
      'partial Once ',
      'partial upon ',
      'partial a time.',
      'whole Once upon a time.',
    ]);
  });

  it('pass through ADK when the agent has a callback that looks at what the model says', async () => {
    const seen: (string | undefined)[] = [];
    const agent = new LlmAgent({
      name: 'assistant',
      model: new ScriptedModel([story]),
      afterModelCallback: ({ response }: { response: LlmResponse }) => {
        seen.push(response.content?.parts?.[0]?.text);
        return undefined;
      },
    });
    expect(await told({ agent })).toEqual(chunks);
    expect(seen).toEqual(['Once ', 'upon ', 'a time.', 'Once upon a time.']);
  });

  it('[S8] that were said before a stop are kept, in the message and in the history', async () => {
    let stop: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const endless: ScriptedTurn = async function* (_request, _stream, signal) {
      yield partial('Once ');
      stop();
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    };
    const server = harness([endless, [text('More.')]]);
    const first = server.post(say('tell'));
    await stopped;
    await server.duologue.fetch(
      new Request('http://localhost/sessions/chat-1/stop', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      }),
    );
    expect((await first).chunks.at(-1)).toMatchObject({ finishReason: 'other' });
    await server.post(say('go on'));
    expect(server.model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'tell'],
      ['model', 'Once '],
      ['user', 'go on'],
    ]);
  });
});
