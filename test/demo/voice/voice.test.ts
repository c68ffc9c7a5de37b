import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlmAgent } from '@google/adk';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Voice } from '../../../demo/server/voice/voice.ts';
import { type SpeechOptions, withSpeech } from '../../../src/models/index.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import { harness } from '../../support/harness.ts';
import { ScriptedModel, streamed } from '../../support/scripted-model.ts';
import { ofType, Speaker } from './support/spoken.ts';

let folder: string;
let registry: Server;
let answer: (response: ServerResponse) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'voice-'));
  registry = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => registry.listen(0, 'localhost', resolve));
});

afterEach(() => {
  registry.close();
  rmSync(folder, { recursive: true, force: true });
});

function voiceOf(port = (registry.address() as AddressInfo).port): Voice {
  const voice = new Voice({ folder, registry: `http://localhost:${port}/` });
  onTestFinished(() => voice.close());
  return voice;
}

/** A user who talks to a model with this speech-to-text. */
async function speakerFor(speech: SpeechOptions): Promise<Speaker> {
  const model = withSpeech(new ScriptedModel([streamed('Typed.')]), speech);
  const agent = new LlmAgent({ name: 'assistant', model });
  const served = await serve(harness([], [], { agent }).duologue, { port: 0 });
  onTestFinished(() => served.close());
  const approver = await new Speaker(served.url, 'voice').opened();
  onTestFinished(() => approver.close());
  return approver;
}

/** Speaks to a model with this voice, then types; returns the chunks of the first turn, and the answer of the second. */
async function talk(voice: Voice): Promise<{ spoken: string; typed: string }> {
  const approver = await speakerFor(voice);
  await approver.say('hello.wav');
  await approver.until(({ chunks }) => /could not be recognised/.test(JSON.stringify(chunks)));
  const spoken = JSON.stringify(approver.heard.chunks);
  approver.type('hi');
  const heard = await approver.until((now) => ofType(now, 'text-delta').length > 0);
  return { spoken, typed: String(ofType(heard, 'text-delta')[0]?.delta) };
}

describe('a voice that is not there', () => {
  test('says so when somebody speaks, and text goes on', async () => {
    const voice = voiceOf();
    expect(voice.now).toEqual({ status: 'absent', total: 38_752_045 });
    const { spoken, typed } = await talk(voice);
    expect(spoken).toContain('voice has not been downloaded yet (39 MB).');
    expect(typed).toBe('Typed.');
  });

  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['is missing', (response) => response.writeHead(404).end(), /could not be downloaded: .* answered 404/],
    [
      'breaks off',
      (response) => {
        response.writeHead(200, { 'content-length': 1000 });
        response.write('x', () => response.destroy());
      },
      /The download of sherpa-onnx-1\.13\.8 broke off \(.+\)\./,
    ],
    [
      'is not what it should be',
      (response) => response.writeHead(200).end('another'),
      /sherpa-onnx-1\.13\.8 was downloaded with a wrong checksum/,
    ],
  ])('says why when a part of it %s, to whoever asks and to whoever speaks', async (_, reply, why) => {
    answer = reply;
    const voice = voiceOf();
    voice.prepare();
    expect(voice.now.status).toBe('fetching');
    await expect.poll(() => voice.now.status).toBe('failed');
    expect(voice.now).toMatchObject({ message: expect.stringMatching(why), total: 38_752_045 });
    const { spoken, typed } = await talk(voice);
    expect(spoken).toContain('voice could not be downloaded');
    expect(typed).toBe('Typed.');
  });

  test('a password in the address of the registry is sent to the registry, and appears in no message', async () => {
    const sent: (string | undefined)[] = [];
    answer = (response) => {
      sent.push(response.req.headers.authorization);
      response.writeHead(404).end();
    };
    const { port } = registry.address() as AddressInfo;
    for (const at of [port, 1]) {
      const voice = new Voice({ folder, registry: `http://reader:s%40cret@localhost:${at}/npm/` });
      onTestFinished(() => voice.close());
      voice.prepare();
      await expect.poll(() => voice.now.status).toBe('failed');
      expect(JSON.stringify(voice.now)).toContain(`http://localhost:${at}`);
      expect(JSON.stringify(voice.now)).not.toMatch(/reader|cret/);
    }
    expect(sent).toEqual([`Basic ${Buffer.from('reader:s@cret').toString('base64')}`]);
  });

  test('says that there is no network, and can be fetched later', async () => {
    const voice = voiceOf(1);
    voice.prepare();
    await expect.poll(() => voice.now.status).toBe('failed');
    expect(voice.now).toMatchObject({ message: expect.stringMatching(/cannot be reached \(.+\)\./) });
    voice.prepare();
    expect(voice.now.status).toBe('fetching');
    await expect.poll(() => voice.now.status).toBe('failed');
  });
});

test('sound without words is told to whoever made it, and is no message', async () => {
  const approver = await speakerFor({ speechToText: async () => '' });
  await approver.say('hello.wav');
  const heard = await approver.until((now) => ofType(now, 'data-transcript').length > 0);
  expect(ofType(heard, 'data-transcript')[0]?.data).toEqual({ role: 'user', text: '', finished: true });
  approver.type('hi');
  await approver.until((now) => ofType(now, 'text-delta').length > 0);
  expect(ofType(heard, 'data-message').length).toBe(1);
});
