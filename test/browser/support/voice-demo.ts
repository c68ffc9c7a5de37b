import { FakeGeminiLive, type FakeLiveOptions } from '../../support/gemini-live/fake-gemini-live.ts';
import { VOICE } from '../../support/gemini-live/voice.ts';
import { DemoServer } from './server.ts';

/** The demo on a fake live model that receives recorded speech and answers with tones. */
export interface VoiceDemo {
  server: DemoServer;
  url: string;
  /** The fake model: `utterances` are the transcripts of the next speech, `http.answer` its answer. */
  fake: FakeGeminiLive;
  dispose(): Promise<void>;
}

/**
 * Starts the demo as `npm start` runs it, on a fake of Gemini Live that speaks aloud. Sound that reaches it is speech when it is loud
 * enough and ends with a pause; each takes the next of `fake.utterances` as its words, and the demo's rules answer.
 */
export async function startVoiceDemo(
  options: Partial<FakeLiveOptions> = {},
  environment: Record<string, string> = {},
): Promise<VoiceDemo> {
  const fake = await FakeGeminiLive.start({
    model: 'gemini-3.8-live',
    voice: VOICE,
    timer: realTime,
    ...options,
  });
  const server = new DemoServer({ ...fake.environment, ...environment });
  await server.start();
  return {
    server,
    url: server.url,
    fake,
    async dispose() {
      await server.dispose();
      await fake.stop();
    },
  };
}

/** The server is another process, with the time of the machine. */
const realTime = {
  now: () => performance.now(),
  after(ms: number, callback: () => void) {
    const timer = setTimeout(callback, Math.max(0, ms));
    return () => clearTimeout(timer);
  },
};
