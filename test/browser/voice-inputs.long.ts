import { describe, expect, it } from 'vitest';
import { voiceStage } from './support/voice-stage.ts';

const staged = voiceStage();
const { talker } = staged;

describe('camera, keys and microphones of a person who talks', () => {
  it('no longer is blind: a picture of the camera reaches the model, which says what it sees', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('Hello.');
    await person.talk('payment');
    await person.own.getByText('Hello.').waitFor();
    await person.bar.getByRole('button', { name: 'Turn the camera on' }).click();
    await person.page.getByTestId('camera-preview').waitFor();
    await expect.poll(() => JSON.stringify(staged.demo.fake.sent('realtimeInput'))).toContain('image/jpeg');
    staged.demo.fake.utterances.push('What do you see?');
    await person.talk('weather');
    await person.answers.getByText(/red/i).first().waitFor();
    await person.bar.getByRole('button', { name: 'Turn the camera off' }).click();
    await person.page.getByTestId('camera-preview').waitFor({ state: 'detached' });
  });

  it('the key that is held alone talks, and a shortcut does not', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('Hello.', 'Again.');
    await person.talk('payment');
    await person.own.getByText('Hello.').waitFor();
    await person.shortcut('b');
    await person.page.keyboard.down('Control');
    await person.status('hearing').waitFor();
    await person.utter('weather');
    await person.page.keyboard.up('Control');
    await person.own.getByText('Again.').waitFor();
    // By the button, and by the key; the shortcut came between them.
    expect(await person.page.evaluate(() => window.room.asked.length)).toBe(2);
  });

  it('a microphone that is muted hears nothing, and hangs nothing up', async () => {
    const person = await talker();
    await person.handsFree();
    await person.bar.getByRole('button', { name: 'Mute microphone' }).click();
    await person.bar.getByText('Your microphone is muted').waitFor();
    await person.utter('weather');
    await person.bar.getByRole('button', { name: 'Unmute microphone' }).click();
    staged.demo.fake.utterances.push('Heard again.');
    await person.utter('weather');
    await person.own.getByText('Heard again.').waitFor();
    expect(await person.own.count()).toBe(1);
    expect(await person.page.evaluate(() => [window.room.asked.length, window.room.awake])).toEqual([
      1,
      ['on', 'off', 'on'],
    ]);
  });

  it('a microphone is exchanged while it is on: the new one is heard, the old one is not, and one that cannot be had changes nothing', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('From the headset.', 'From the headset again.');
    await person.handsFree();
    await person.choose('Headset');
    await expect
      .poll(() => person.page.evaluate(() => window.room.asked.map(({ audio }) => audio)))
      .toMatchObject([{}, { deviceId: { exact: 'Headset' } }]);
    await person.status('listening').waitFor();
    await person.utter('payment', 'Desk');
    await person.utter('weather', 'Headset');
    await person.own.getByText('From the headset.').waitFor();
    await person.page.evaluate(() => {
      window.room.refusal = 'NotReadableError';
    });
    await person.choose('Desk');
    await person.error(/Another program/).waitFor();
    await person.page.evaluate(() => {
      window.room.refusal = null;
    });
    await person.utter('weather', 'Headset');
    await person.own.getByText('From the headset again.').waitFor();
    expect(await person.own.count()).toBe(2);
    expect(await person.page.evaluate(() => window.room.recording())).toEqual(['Headset']);
  });
});
