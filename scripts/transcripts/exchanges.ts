import { encodeBinary } from '../../src/protocol/index.ts';
import { fourTools } from '../../test/support/demo-tools.ts';
import {
  calls,
  ScriptedLiveConnection,
  ScriptedModel,
  type ScriptedTurn,
  streamed,
} from '../../test/support/scripted-model.ts';
import { type RecordedClient, Recorder } from './recorder.ts';

/** One section of a transcript: a title, and the exchange that it records. */
interface Section {
  title: string;
  record(): Promise<string>;
}

/** A page of docs/transcripts. */
export interface Exchange {
  file: string;
  title: string;
  about: string;
  sections: Section[];
}

const says = (text: string, id = 'user-1') => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const message = (text: string, requestId: string, id?: string) => ({ messages: [says(text, id)], requestId });

const PAY = { id: 'call-1', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const PAY_BOB = { id: 'call-2', name: 'process_payment', args: { amount: 40, recipient: 'Bob' } };
const WHERE = { id: 'call-1', name: 'get_location', args: {} };

/** Runs an exchange and closes its server. */
async function recorded(
  recorder: Promise<Recorder>,
  play: (recorder: Recorder) => Promise<void>,
): Promise<string> {
  const started = await recorder;
  try {
    await play(started);
    return started.transcript();
  } finally {
    await started.close();
  }
}

/** Posts a body and waits for the whole response. */
async function post(recorder: Recorder, client: RecordedClient, body: object): Promise<void> {
  const { lines, ended } = recorder.post(client, body);
  await recorder.step(lines, ended);
}

/** The assistant message that answers a call, as a client posts it. */
function answer(messageId: unknown, part: object): object {
  return { id: 'chat-1', messages: [{ id: messageId, role: 'assistant', parts: [part] }] };
}

const done = (client: RecordedClient, nth = 1): Promise<void> => client.until(() => client.dones >= nth);

const textSse: Section = {
  title: 'Text over SSE',
  record: () =>
    recorded(Recorder.start([streamed('Hello ', 'there.')]), async (recorder) => {
      await post(recorder, recorder.client(), { id: 'chat-1', messages: [says('Hi')] });
    }),
};

const textBidi: Section = {
  title: 'Text over BIDI',
  record: () =>
    recorded(Recorder.start([streamed('Hello ', 'there.')]), async (recorder) => {
      const client = recorder.client();
      await recorder.step(recorder.connect(client, '?session=chat-1'), client.chunk('data-session'));
      await recorder.step(recorder.send(client, 'message', message('Hi', 'r-1')), done(client));
      await recorder.step(
        recorder.send(client, 'ping', { timestamp: 7 }),
        new Promise<void>((resolve) => client.socket?.once('message', () => resolve())),
      );
    }),
};

const paid: ScriptedTurn[] = [[calls(PAY)], streamed('Alice ', 'is paid.')];

const approvalSse = (approved: boolean): Section => ({
  title: `Over SSE, ${approved ? 'approved' : 'denied'}`,
  record: () =>
    recorded(
      Recorder.start(approved ? paid : [[calls(PAY)], streamed('Then not.')], [fourTools().payment]),
      async (recorder) => {
        const client = recorder.client();
        await post(recorder, client, { id: 'chat-1', messages: [says('Pay Alice 30')] });
        const { approvalId } = await client.chunk('tool-approval-request');
        const { messageId } = await client.chunk('start');
        await post(
          recorder,
          client,
          answer(messageId, {
            type: 'tool-process_payment',
            toolCallId: PAY.id,
            state: 'approval-responded',
            input: PAY.args,
            approval: { id: approvalId, approved, ...(approved ? {} : { reason: 'too dear' }) },
          }),
        );
      },
    ),
});

const approvalBidi: Section = {
  title: 'Over BIDI, approved',
  record: () =>
    recorded(Recorder.start(paid, [fourTools().payment]), async (recorder) => {
      const client = recorder.client();
      await recorder.step(recorder.connect(client, '?session=chat-1'), client.chunk('data-session'));
      await recorder.step(
        recorder.send(client, 'message', message('Pay Alice 30', 'r-1')),
        client.chunk('finish-step'),
      );
      recorder.remark('the user approves');
      await recorder.step(
        recorder.send(client, 'tool_result', { toolCallId: PAY.id, status: 'approved', requestId: 'r-2' }),
        done(client),
      );
    }),
};

const there: ScriptedTurn[] = [[calls(WHERE)], streamed('You are ', 'in Oslo.')];
const OSLO = { latitude: 59.91, longitude: 10.75 };

const browserBidi: Section = {
  title: 'Over BIDI',
  record: () =>
    recorded(Recorder.start(there, [fourTools().location]), async (recorder) => {
      const client = recorder.client();
      await recorder.step(recorder.connect(client, '?session=chat-1'), client.chunk('data-session'));
      await recorder.step(
        recorder.send(client, 'message', message('Where am I?', 'r-1')),
        client.chunk('finish-step'),
      );
      recorder.remark('the user approves; the client runs the tool and sends its output');
      await recorder.step(
        recorder.send(client, 'tool_result', { toolCallId: WHERE.id, status: 'approved', requestId: 'r-2' }),
        client.chunk('data-accepted', 2),
        client.chunk('data-decided'),
      );
      await recorder.step(
        recorder.send(client, 'tool_result', { toolCallId: WHERE.id, result: OSLO, requestId: 'r-3' }),
        done(client),
      );
    }),
};

const browserSse: Section = {
  title: 'Over SSE',
  record: () =>
    recorded(Recorder.start(there, [fourTools().location]), async (recorder) => {
      const client = recorder.client();
      await post(recorder, client, { id: 'chat-1', messages: [says('Where am I?')] });
      const { approvalId } = await client.chunk('tool-approval-request');
      const { messageId } = await client.chunk('start');
      const part = { type: 'tool-get_location', toolCallId: WHERE.id, input: {} };
      const approval = { id: approvalId, approved: true };
      await post(recorder, client, answer(messageId, { ...part, state: 'approval-responded', approval }));
      recorder.remark('the client runs the tool');
      await post(
        recorder,
        client,
        answer(messageId, { ...part, state: 'output-available', output: OSLO, approval }),
      );
    }),
};

const twoBidi: Section = {
  title: 'Over BIDI: one after the other',
  record: () =>
    recorded(
      Recorder.start(
        [[calls(PAY, PAY_BOB)], streamed('Alice is paid, ', 'Bob is not.')],
        [fourTools().payment],
      ),
      async (recorder) => {
        const client = recorder.client();
        await recorder.step(recorder.connect(client, '?session=chat-1'), client.chunk('data-session'));
        await recorder.step(
          recorder.send(client, 'message', message('Pay Alice 30 and Bob 40', 'r-1')),
          client.chunk('finish-step'),
        );
        await recorder.step(
          recorder.send(client, 'tool_result', { toolCallId: PAY.id, status: 'approved', requestId: 'r-2' }),
          client.chunk('finish-step', 2),
        );
        const denial = { toolCallId: PAY_BOB.id, status: 'rejected', reason: 'not him', requestId: 'r-3' };
        await recorder.step(recorder.send(client, 'tool_result', denial), done(client));
      },
    ),
};

const twoSse: Section = {
  title: 'Over SSE: together, answered in one post',
  record: () =>
    recorded(
      Recorder.start(
        [[calls(PAY, PAY_BOB)], streamed('Alice is paid, ', 'Bob is not.')],
        [fourTools().payment],
      ),
      async (recorder) => {
        const client = recorder.client();
        await post(recorder, client, { id: 'chat-1', messages: [says('Pay Alice 30 and Bob 40')] });
        const first = await client.chunk('tool-approval-request');
        const second = await client.chunk('tool-approval-request', 2);
        const { messageId } = await client.chunk('start');
        const decided = (call: typeof PAY, approval: object) => ({
          type: 'tool-process_payment',
          toolCallId: call.id,
          state: 'approval-responded',
          input: call.args,
          approval,
        });
        await post(recorder, client, {
          id: 'chat-1',
          messages: [
            {
              id: messageId,
              role: 'assistant',
              parts: [
                decided(PAY, { id: first.approvalId, approved: true }),
                decided(PAY_BOB, { id: second.approvalId, approved: false, reason: 'not him' }),
              ],
            },
          ],
        });
      },
    ),
};

/** A turn that streams some text, waits until the exchange releases it, and streams the rest. */
function paused(first: string, rest: string): { turn: ScriptedTurn; release: () => void } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const [one, two, whole] = streamed(first, rest);
  return {
    release: () => release(),
    async *turn() {
      if (one !== undefined) yield one;
      await released;
      if (two !== undefined) yield two;
      if (whole !== undefined) yield whole;
    },
  };
}

const resume: Section = {
  title: 'Resume: the log still has the chunk',
  record: () => {
    const { turn, release } = paused('Hello ', 'there.');
    return recorded(Recorder.start([turn]), async (recorder) => {
      const client = recorder.client();
      await recorder.step(recorder.connect(client, '?session=chat-1'), client.chunk('data-session'));
      await recorder.step(recorder.send(client, 'message', message('Hi', 'r-1')), client.chunk('text-delta'));
      recorder.remark('the network drops; the client connects again and names its last chunk');
      client.socket?.terminate();
      const { last } = client;
      await recorder.step(
        recorder.connect(client, `?session=chat-1&last=${last}`),
        client.chunk('data-session', 2),
      );
      release();
      recorder.remark('the agent continues');
      await recorder.step([], done(client));
    });
  },
};

const reset: Section = {
  title: 'Reset: the log does not have the chunk',
  record: () =>
    recorded(Recorder.start([streamed('Hello ', 'there.')]), async (recorder) => {
      const client = recorder.client();
      await recorder.step(recorder.connect(client, '?session=chat-1'), client.chunk('data-session'));
      await recorder.step(recorder.send(client, 'message', message('Hi', 'r-1')), done(client));
      recorder.remark(
        'the client comes back with a chunk id of another epoch, as after a restart of the server',
      );
      client.socket?.terminate();
      await recorder.step(
        recorder.connect(client, '?session=chat-1&last=elsewhere-7'),
        client.chunk('data-reset'),
      );
    }),
};

const RATE = 24_000;

/** Model audio of that many milliseconds, with its transcript. */
const spoken = (ms: number, text: string) => [
  {
    content: {
      role: 'model',
      parts: [
        {
          inlineData: {
            mimeType: `audio/pcm;rate=${RATE}`,
            data: Buffer.alloc((ms * RATE * 2) / 1_000).toString('base64'),
          },
        },
      ],
    },
  },
  { outputTranscription: { text, finished: false }, partial: true },
];

const voice: Section = {
  title: 'Voice with interruption',
  record: () => {
    const connection = new ScriptedLiveConnection();
    const model = new ScriptedModel([], { connections: [connection] });
    return recorded(Recorder.start([], [], model), async (recorder) => {
      const client = recorder.client();
      await recorder.step(recorder.connect(client, '?session=chat-1'), client.chunk('data-session'));
      const microphone = encodeBinary({ kind: 1, sampleRate: 16_000, payload: new Uint8Array(640) });
      const start = recorder.send(client, 'audio_control', { action: 'start', detection: 'server' });
      const heard = new Promise<void>((resolve) => {
        connection.onSend = ({ kind }) => {
          if (kind === 'realtime') resolve();
        };
      });
      client.socket?.send(microphone);
      await recorder.step([...start, ...client.sends('binary: kind 1, 16000 Hz, 320 samples')], heard);
      recorder.remark('the model has heard a question');
      connection.push({ inputTranscription: { text: 'Count to four.', finished: true }, partial: false });
      await recorder.step([], client.chunk('data-transcript'), client.chunk('data-message'));
      recorder.remark('the model answers with sound and words');
      for (const word of ['One, ', 'two, ', 'three, ', 'four.']) connection.push(...spoken(100, word));
      await recorder.step(
        [],
        client.chunk('text-delta', 4),
        client.until(() => client.sounds === 4),
      );
      recorder.remark('the user presses stop after 200 milliseconds of sound');
      const { messageId } = await client.chunk('start');
      await recorder.step(
        recorder.send(client, 'interrupt', { messageId, playedMs: 200, requestId: 'r-1' }),
        done(client),
        client.chunk('data-heard'),
        client.chunk('data-accepted'),
      );
    });
  },
};

const twoPages: Section = {
  title: 'Two pages of one user',
  record: () =>
    recorded(Recorder.start(paid, [fourTools().payment]), async (recorder) => {
      const [a, b] = [recorder.client('A '), recorder.client('B ')];
      await recorder.step(recorder.connect(a, '?session=chat-1'), a.chunk('data-session'));
      await recorder.step(recorder.connect(b, '?session=chat-1'), b.chunk('data-session'));
      recorder.remark('A is the active connection; B watches');
      await recorder.step(
        recorder.send(a, 'message', message('Pay Alice 30', 'r-1')),
        a.chunk('finish-step'),
        b.chunk('finish-step'),
      );
      recorder.remark('the user approves on B; A sees the decision');
      await recorder.step(
        recorder.send(b, 'tool_result', { toolCallId: PAY.id, status: 'approved', requestId: 'r-1b' }),
        done(a),
        done(b),
      );
      recorder.remark('B claims the active connection');
      await recorder.step(recorder.send(b, 'floor', {}), a.chunk('data-floor'), b.chunk('data-floor'));
    }),
};

/** The pages of docs/transcripts. */
export const EXCHANGES: Exchange[] = [
  {
    file: 'text-over-sse',
    title: 'Text over SSE',
    about: 'One post, one response (S1). The text is in `text-delta`.',
    sections: [textSse],
  },
  {
    file: 'text-over-bidi',
    title: 'Text over BIDI',
    about:
      'One socket: `data-session` first (B10), then a message (B2), its acceptance (B25) and the answer. A `ping` at the end (B7).',
    sections: [textBidi],
  },
  {
    file: 'approval',
    title: 'An approval in each mode',
    about:
      'Over SSE the response ends at the approval request, and the answer is a second post (S5, S6). Over BIDI the turn continues on the same socket (B12, B13).',
    sections: [approvalSse(true), approvalSse(false), approvalBidi],
  },
  {
    file: 'browser-tool',
    title: 'A browser tool with approval',
    about: 'The tool runs in the client after the user has approved (T2, T19).',
    sections: [browserBidi, browserSse],
  },
  {
    file: 'two-approvals',
    title: 'Two approvals',
    about:
      'Over BIDI the second call is shown after the first is settled (T17). Over SSE both come in one response (T17b).',
    sections: [twoBidi, twoSse],
  },
  {
    file: 'reconnect',
    title: 'Reconnect with resume and with reset',
    about:
      'A client that names its last chunk gets the later ones (R2, R6). When the log does not have it, the client gets its messages anew (R5a).',
    sections: [resume, reset],
  },
  {
    file: 'voice',
    title: 'Voice with interruption',
    about:
      'Sound both ways as binary frames (C13, B27), and a stop that cuts the text which was not heard (B28).',
    sections: [voice],
  },
  {
    file: 'two-pages',
    title: 'Two pages',
    about:
      'Two connections of one session: both get every chunk, one of them is the active connection (B30 to B32).',
    sections: [twoPages],
  },
];

/** A page with its exchanges, recorded now. */
export async function pageOf({ title, about, sections }: Exchange): Promise<string> {
  const parts = [`# ${title}\n`, `${about}\n`];
  for (const section of sections) {
    if (sections.length > 1) parts.push(`## ${section.title}\n`);
    parts.push('```text', await section.record(), '```\n');
  }
  return `${parts.join('\n').trimEnd()}\n`;
}
