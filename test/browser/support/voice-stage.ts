import { afterAll, beforeAll } from 'vitest';
import { type OpenOptions, type Stage, stage } from './browser.ts';
import { furnish, Talker } from './talker.ts';
import { startVoiceDemo, type VoiceDemo } from './voice-demo.ts';

/** The fixtures of a test file about voice: the demo on a fake of Gemini Live, and users who speak to it. */
export interface VoiceStage {
  here: Stage;
  readonly demo: VoiceDemo;
  /** Opens a page of the demo on a live model for a new user. */
  talker(options?: OpenOptions): Promise<Talker>;
  /** Makes the model answer with this text until the test is over. */
  answer(text: string, call?: { name: string; args: Record<string, unknown> }): void;
}

/** A registry that cannot be reached: the server has no speech-to-text model, and the page detects speech by loudness. */
const NOWHERE = { npm_config_registry: 'http://127.0.0.1:9/' };

/** A long text, which takes long to speak. */
export const LONG =
  'This is a long answer that takes its time, because every four characters sound for a while. '.repeat(6);

/** Sets a test file about talking up. */
export function voiceStage(): VoiceStage {
  const here = stage(NOWHERE);
  let started: VoiceDemo | undefined;
  beforeAll(async () => {
    started = await startVoiceDemo({}, { ...NOWHERE, DUOLOGUE_APPROVAL_TIMEOUT_MS: '120000' });
  });
  afterAll(() => started?.dispose());
  const staged: VoiceStage = {
    here,
    get demo() {
      if (!started) throw new Error('The demo has not started.');
      return started;
    },
    async talker(options = {}) {
      const { fake, url } = staged.demo;
      fake.utterances.length = 0;
      fake.refused.length = 0;
      const person = Talker.at(await here.open({ url, prepare: furnish, ...options }));
      // Moves the pointer, because the page loads its voice code at the first input, and otherwise only after seconds.
      await person.box.waitFor();
      await person.page.mouse.move(1, 1);
      return person;
    },
    answer(text, call) {
      const { http } = staged.demo.fake;
      http.answer = () => ({ text, calls: call ? [{ id: '', ...call }] : [], finish: 'stop' });
      here.after(() => {
        http.answer = undefined;
      });
    },
  };
  return staged;
}
