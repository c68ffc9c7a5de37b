import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { WATCHING_SUBPROTOCOL } from '../../src/protocol/index.ts';
import { root } from '../repository/support/repository.ts';
import { fourTools } from '../support/demo-tools.ts';
import { say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, ScriptedLiveConnection, ScriptedModel, text } from '../support/scripted-model.ts';
import { Entered } from './support/entered.ts';

/**
 * How many files of `src` each journey may enter (docs/decisions/0035-a-journey-is-counted-in-files.md). The numbers only go
 * down. `--reporter verbose` prints the files of each.
 */
const MOST = { message: 63, approval: 85, sound: 56 };

/** The files of `src` of which a function runs between the call of `start` and the end of the journey. */
async function filesOf(journey: (start: () => Promise<unknown>) => Promise<void>): Promise<string[]> {
  const entered = new Entered();
  await entered.start();
  await journey(() => entered.take(root));
  // The scripted model and the clock of `duologue/testing` stand for the model and the time.
  const files = (await entered.take(`${root}/`)).filter((file) => !file.startsWith('src/testing/'));
  await entered.stop();
  return files.filter((file) => file.startsWith('src/'));
}

const pay = call('process_payment', { amount: 30, recipient: 'Alice' }, 'call-p');
const audio = {
  content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } }] },
};

describe('a journey through the server', () => {
  it('of a typed message over SSE enters no more files than before', async ({ annotate }) => {
    const files = await filesOf(async (start) => {
      const { served } = await live([[text('Hello.')], [text('Hello again.')]]);
      const post = async (words: string): Promise<string> => {
        const response = await fetch(`${served.url}/stream`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(say(words)),
        });
        return response.text();
      };
      expect(await post('hello')).toContain('[DONE]');
      // The session is open now, as it is in the other journeys.
      await start();
      expect(await post('hello again')).toContain('Hello again.');
    });
    await annotate(files.join('\n'));
    expect(files).toEqual(
      expect.arrayContaining([
        'src/server/adapters/node-listener.ts',
        'src/server/http/http.ts',
        'src/server/output/output.ts',
      ]),
    );
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(MOST.message);
  });

  it('of an approval over BIDI, from the decision on, enters no more files than before', async ({
    annotate,
  }) => {
    const files = await filesOf(async (start) => {
      const { connect } = await live([[pay], [text('Paid.')]], [fourTools().payment]);
      const socket = await connect();
      socket.say('pay');
      const card = await socket.chunk('tool-approval-request');
      await start();
      socket.send('message', decision(card));
      await socket.done();
      expect(socket.chunks.some(({ type }) => type === 'tool-output-available')).toBe(true);
    });
    await annotate(files.join('\n'));
    expect(files).toEqual(
      expect.arrayContaining([
        'src/server/socket/socket-connection.ts',
        'src/server/access/sign-in.ts',
        'src/server/ledger/approvals.ts',
      ]),
    );
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(MOST.approval);
  });

  it('of a sound, both ways, enters no more files than before', async ({ annotate }) => {
    const files = await filesOf(async (start) => {
      const connection = new ScriptedLiveConnection();
      const model = new ScriptedModel([], { connections: [connection] });
      const { connect } = await live([], [], { agent: new LlmAgent({ name: 'assistant', model }) });
      const socket = await connect('', { protocols: [WATCHING_SUBPROTOCOL] });
      const received = new Promise<void>((resolve) => {
        connection.onSend = ({ kind }) => {
          if (kind === 'realtime') resolve();
        };
      });
      await socket.chunk('data-session');
      await start();
      socket.send('audio_control', { action: 'start' });
      socket.send('audio_chunk', { chunk: 'AAECAw==' });
      await received;
      connection.push(audio);
      await socket.until((all) => all.some(({ kind }) => kind === 'binary'), 'sound');
    });
    await annotate(files.join('\n'));
    expect(files).toEqual(
      expect.arrayContaining(['src/server/socket/incoming.ts', 'src/server/output/utterances.ts']),
    );
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(MOST.sound);
  });
});
