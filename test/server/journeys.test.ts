import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { WATCHING_SUBPROTOCOL } from '../../src/protocol/index.ts';
import { root } from '../repository/support/repository.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, live } from '../support/live.ts';
import { call, ScriptedLiveConnection, ScriptedModel, text } from '../support/scripted-model.ts';
import { Entered } from './support/entered.ts';
import { placesOf } from './support/places.ts';

const places = placesOf();

/** The places of the server, outside of stores and doors to frameworks, that something leads through. */
async function through(journey: (begin: () => Promise<unknown>) => Promise<void>): Promise<string[]> {
  const entered = new Entered();
  await entered.start();
  await journey(() => entered.take(root));
  const files = (await entered.take(`${root}/`)).filter((file) =>
    /^src\/server\/(?!store\/|adapters\/)/.test(file),
  );
  await entered.stop();
  return [...new Set(files.map((file) => places.get(file) ?? file))].sort();
}

const pay = call('process_payment', { amount: 30, recipient: 'Alice' }, 'call-p');
const audio = {
  content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } }] },
};

/** What every journey leads through: the socket, the conversation with its machine and its hands, and what is said. */
const CORE = [
  'src/server/conversation/conversation.ts',
  'src/server/conversation/machine/machine.ts',
  'src/server/conversation/shell.ts',
  'src/server/socket/sockets.ts',
];

describe('a journey through the server', () => {
  it('of a message leads through at most 12 places', async () => {
    const found = await through(async (begin) => {
      const { connect } = await live([[text('Hello.')]]);
      const socket = await connect();
      await socket.chunk('data-session');
      await begin();
      socket.say('hello');
      await socket.done();
    });
    expect(found).toEqual(expect.arrayContaining([...CORE, 'src/server/output/output.ts']));
    expect(found.length, found.join()).toBeLessThanOrEqual(12);
  });

  it('of an approval, from the decision on, leads through at most 12: the ledger, the ends of calls and the sign-in are three of them', async () => {
    const found = await through(async (begin) => {
      const { connect } = await live([[pay], [text('Paid.')]], [fourTools().payment]);
      const socket = await connect();
      socket.say('pay');
      const card = await socket.chunk('tool-approval-request');
      await begin();
      socket.send('message', decision(card));
      await socket.done();
    });
    const own = ['ledger/approvals', 'ledger/settlement', 'access/sign-in'].map(
      (name) => `src/server/${name}.ts`,
    );
    expect(found).toEqual(expect.arrayContaining([...CORE, 'src/server/output/output.ts', ...own]));
    expect(found.length, found.join()).toBeLessThanOrEqual(12);
  });

  it('of a sound, both ways, leads through at most 12', async () => {
    const found = await through(async (begin) => {
      const connection = new ScriptedLiveConnection();
      const model = new ScriptedModel([], { connections: [connection] });
      const { connect } = await live([], [], { agent: new LlmAgent({ name: 'assistant', model }) });
      const socket = await connect('', { protocols: [WATCHING_SUBPROTOCOL] });
      const heard = new Promise<void>((resolve) => {
        connection.onSend = ({ kind }) => {
          if (kind === 'realtime') resolve();
        };
      });
      await socket.chunk('data-session');
      await begin();
      socket.send('audio_control', { action: 'start' });
      socket.send('audio_chunk', { chunk: 'AAECAw==' });
      await heard;
      connection.push(audio);
      await socket.until((all) => all.some(({ kind }) => kind === 'binary'), 'sound');
    });
    expect(found).toEqual(expect.arrayContaining(CORE));
    expect(found.length, found.join()).toBeLessThanOrEqual(12);
  });
});
