import { describe, expect, it } from 'vitest';
import { Relay } from './support/relay.ts';
import { furnish } from './support/talker.ts';
import { LONG, voiceStage } from './support/voice-stage.ts';

const staged = voiceStage();
const { here, talker, answer } = staged;

/** How the fake speaks: so many characters at a time, for 240 ms at 24 kHz. */
const PIECE_CHARACTERS = 4;
const PIECE_SAMPLES = 5760;

describe('what talking is done with, and what else is shown and heard', () => {
  it('[B27] whoever loses the network while the agent speaks hears the rest, and nothing twice', async () => {
    const relay = await new Relay(staged.demo.url).start();
    here.after(() => relay.dispose());
    const person = await talker({ url: relay.url });
    const text = LONG.slice(0, 120);
    answer(text);
    staged.demo.fake.utterances.push('Go on.');
    await person.talk('payment');
    await person.hears();
    relay.cut();
    await person.connection('reconnecting').waitFor();
    relay.restore();
    const played = () => person.page.evaluate(() => window.room.played);
    const whole = (text.length / PIECE_CHARACTERS) * PIECE_SAMPLES;
    await expect.poll(async () => (await played()).at(-1)?.[1]).toBe(whole);
    const pieces = await played();
    expect(pieces[0]?.[0]).toBe(0);
    expect(pieces.filter(([from], index) => index > 0 && from !== pieces[index - 1]?.[1])).toEqual([]);
  });

  it('a microphone that is unplugged or refused is told in words, and can be switched on again', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('Heard so far.', 'Heard again.');
    await person.handsFree();
    const spoken = person.utter('weather');
    // The model needs more sound to recognise speech than the page.
    await staged.demo.fake.until(() => staged.demo.fake.session.isHearing);
    await person.page.evaluate(() => window.room.unplug());
    await person.error(/disconnected/).waitFor();
    await person.status('off').waitFor();
    await spoken;
    await person.own.getByText('Heard so far.').waitFor();
    for (const [refusal, words] of [
      ['NotAllowedError', /Allow it/],
      ['NotFoundError', /not found/],
      ['NotReadableError', /Another program/],
    ] as const) {
      await person.page.evaluate((name) => {
        window.room.refusal = name;
      }, refusal);
      await person.microphone.focus();
      await person.page.keyboard.press('Enter');
      await person.error(words).waitFor();
      await person.status('off').waitFor();
    }
    await person.page.evaluate(() => {
      window.room.refusal = null;
    });
    await person.talk('weather');
    await person.own.getByText('Heard again.').waitFor();
    expect(staged.demo.fake.refused).toEqual([]);
  });

  it('a loudspeaker is exchanged while the agent speaks; one that is unplugged gives way to the usual one', async () => {
    const person = await talker();
    answer(LONG);
    staged.demo.fake.utterances.push('Go on.');
    await person.talk('payment');
    await person.hears();
    const given = () => person.page.evaluate(() => window.room.loudspeakers);
    // An Escape that closes the menu is not meant for the agent.
    await person.bar.getByRole('button', { name: 'Voice settings' }).click();
    await person.page.getByRole('menu').press('Escape');
    await person.page.getByRole('menu').waitFor({ state: 'detached' });
    expect(await person.speaker('agent').count()).toBe(1);
    await person.choose('Headphones');
    await expect.poll(given).toEqual(['Headphones']);
    await person.page.evaluate(() => window.room.unplug('Headphones'));
    await expect.poll(given).toEqual(['Headphones', '']);
    await person.hears();
    await person.page.evaluate(() => {
      window.room.refusal = 'NotAllowedError';
    });
    await person.choose('Speakers');
    await person.error(/Allow it/).waitFor();
    await person.hears();
    expect(await given()).toEqual(['Headphones', '']);
  });

  it('[B28] whoever presses Escape silences the agent within 50 ms, and only what was heard is kept', async () => {
    const person = await talker();
    answer(LONG);
    staged.demo.fake.utterances.push('Go on.');
    await person.talk('payment');
    await person.hears();
    await person.page.evaluate(() => {
      window.room.markAt = 'key';
    });
    await person.page.keyboard.press('Escape');
    expect(await person.silentAfter()).toBeLessThan(50);
    await expect.poll(() => person.isBusy()).toBe(false);
    const kept = (await person.answers.first().innerText()).split('\n')[0]?.trim();
    expect(LONG).toContain(kept);
    await person.page.reload();
    await person.answers.first().waitFor();
    expect((await person.answers.first().innerText()).split('\n')[0]?.trim()).toBe(kept);
  });

  it('a page that is hidden hears nothing until it is seen again', async () => {
    const person = await talker();
    await person.handsFree();
    const hide = (isHidden: boolean) =>
      person.page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, isHidden);
    await hide(true);
    await person.bar.getByText('The microphone is off while the page is hidden').waitFor();
    await person.utter('payment');
    await hide(false);
    await person.status('listening').waitFor();
    staged.demo.fake.utterances.push('Heard again.');
    await person.utter('weather');
    await person.own.getByText('Heard again.').waitFor();
    expect(await person.own.count()).toBe(1);
  });

  it('sound that the browser does not allow yet is told, and is heard after a click', async () => {
    const person = await talker({
      prepare: async (context) => {
        await furnish(context);
        await context.addInitScript(() => {
          let isAllowed = false;
          const { resume } = AudioContext.prototype;
          AudioContext.prototype.resume = async function (this: AudioContext) {
            if (isAllowed || this.sampleRate !== 24_000) await resume.call(this);
          };
          window.AudioContext = class extends AudioContext {
            constructor(options?: AudioContextOptions) {
              super(options);
              if (this.sampleRate === 24_000 && !isAllowed) void this.suspend();
            }
          };
          window.addEventListener(
            'pointerdown',
            () => {
              isAllowed = true;
            },
            true,
          );
        });
      },
    });
    await person.handsFree();
    const blocked = person.page.getByTestId('voice-blocked');
    await blocked.getByRole('button', { name: 'Allow sound' }).click();
    await blocked.waitFor({ state: 'detached' });
    answer(LONG);
    staged.demo.fake.utterances.push('Go on.');
    await person.utter('weather');
    await person.hears();
  });

  it('a finger holds the button as a mouse does', async () => {
    const person = await talker({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 780 } });
    staged.demo.fake.utterances.push('Said with a finger.');
    const finger = await person.page.context().newCDPSession(person.page);
    const touch = async (type: 'touchStart' | 'touchEnd') => {
      const box = await person.microphone.boundingBox();
      const touchPoints = box && type === 'touchStart' ? [{ x: box.x + 20, y: box.y + 20 }] : [];
      await finger.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    await touch('touchStart');
    await person.status('hearing').waitFor();
    await person.utter('weather');
    await touch('touchEnd');
    await person.status('off').waitFor();
    await person.own.getByText('Said with a finger.').waitFor();
  });

  it('music grows quiet while somebody speaks, and comes back', async () => {
    const person = await talker();
    await person.say('Play track 2');
    const music = () => person.page.evaluate(() => window.room.music());
    await expect.poll(music).toBeGreaterThan(0.1);
    await expect.poll(async () => (await person.toolsDone()).length).toBe(1);
    await person.page.waitForFunction(() => window.room.listen().level < 0.001);
    const before = await music();
    await person.hold();
    await expect.poll(music).toBeLessThan(before * 0.3);
    await person.letGo();
    await expect.poll(music).toBeGreaterThan(before * 0.9);
  });

  it('a screen is shown to the model until the person ends it, here or in the browser', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('Hello.');
    await person.talk('payment');
    await person.own.getByText('Hello.').waitFor();
    const share = person.bar.getByRole('button', { name: 'Share the screen' });
    const preview = person.page.getByTestId('camera-preview');
    await share.click();
    await preview.waitFor();
    await expect.poll(() => pictures().length).toBeGreaterThan(0);
    // Of a screen of 1280 by 960.
    const [picture = Buffer.alloc(0)] = pictures();
    expect(sizeOf(picture)).toEqual([768, 576]);
    expect(picture.length).toBeLessThan(200_000);
    await person.bar.getByRole('button', { name: 'Stop sharing' }).click();
    await preview.waitFor({ state: 'detached' });
    await share.click();
    await preview.waitFor();
    await preview.evaluate((video: HTMLVideoElement) => {
      const { srcObject } = video;
      for (const track of srcObject instanceof MediaStream ? srcObject.getTracks() : [])
        track.dispatchEvent(new Event('ended'));
    });
    await preview.waitFor({ state: 'detached' });
    // A user who closes the dialog of the browser has chosen nothing: that is no error.
    await person.page.evaluate(() => {
      window.room.refusal = 'NotAllowedError';
    });
    const asked = await person.page.evaluate(() => window.room.asked.length);
    await share.click();
    await expect.poll(() => person.page.evaluate(() => window.room.asked.length)).toBe(asked + 1);
    expect(await person.page.getByTestId('voice-error').count()).toBe(0);
  });

  it('a film that a model gives is a part of its message, and plays, also when the page is loaded again', async () => {
    const person = await talker();
    const data = await person.page.evaluate(film);
    const parts = [{ inlineData: { mimeType: 'video/webm', data } }];
    staged.demo.fake.turnFaults.push({ tells: [{ serverContent: { modelTurn: { parts } } }] });
    answer('Here is a film.');
    await person.say('Show me a film');
    const video = person.answers.locator('video');
    const plays = () =>
      video.evaluate(async (one: HTMLVideoElement) => {
        await one.play();
        return [one.videoWidth, one.videoHeight, one.currentTime >= 0 && one.readyState >= 2];
      });
    await video.waitFor();
    expect(await plays()).toEqual([64, 48, true]);
    await person.answers.getByText('Here is a film.').waitFor();
    await person.page.reload();
    await video.waitFor();
    expect(await plays()).toEqual([64, 48, true]);
  });
});

/** The pictures that reached the model. */
function pictures(): Buffer[] {
  const found = JSON.stringify(staged.demo.fake.sent('realtimeInput')).matchAll(
    /\{[^{}]*"mimeType":"image\/jpeg"[^{}]*\}/g,
  );
  return [...found].map(([one]) => Buffer.from(JSON.parse(one).data, 'base64'));
}

/** Width and height of a JPEG, as its frame says. */
function sizeOf(jpeg: Buffer): number[] {
  const at = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  return [jpeg.readUInt16BE(at + 7), jpeg.readUInt16BE(at + 5)];
}

/** In a page: a film of a moment, as base64. */
async function film(): Promise<string> {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: 64, height: 48 });
  const brush = canvas.getContext('2d');
  const recorder = new MediaRecorder(canvas.captureStream(), { mimeType: 'video/webm' });
  const pieces: Blob[] = [];
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  recorder.start(50);
  for (let i = 0; pieces.length < 3; i++) {
    if (brush) brush.fillStyle = i % 2 ? 'red' : 'blue';
    brush?.fillRect(0, 0, 64, 48);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  recorder.stop();
  await new Promise((resolve) => {
    recorder.onstop = resolve;
  });
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  return btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(''));
}
