import { describe, expect, it } from 'vitest';
import { Relay } from './support/relay.ts';
import { furnish, Talker } from './support/talker.ts';
import { LONG, voiceStage } from './support/voice-stage.ts';

const staged = voiceStage();
const { here, talker, answer } = staged;

describe('with a live model', () => {
  it('[B29] holding the button ends in a tool call and an answer that is heard', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('What is the weather in Tokyo?');
    await person.talk('weather');
    await person.own.getByText('What is the weather in Tokyo?').waitFor();
    const { pitch } = await person.heard();
    expect(Math.abs(pitch - 440)).toBeLessThan(15);
    await person.answers.getByText(/Tokyo/).first().waitFor();
    await expect.poll(() => person.toolsDone()).toEqual(['get_weather']);
    expect(staged.demo.fake.refused).toEqual([]);
  });

  it('is no longer limited to push to talk: hands-free, whoever begins to speak is heard, and heard out', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('What is the weather in Tokyo?');
    await person.handsFree();
    await person.utter('weather');
    await person.own.getByText('What is the weather in Tokyo?').waitFor();
    await person.heard();
    await expect.poll(() => person.toolsDone()).toEqual(['get_weather']);
    await person.microphone.click();
    await person.status('off').waitFor();
  });

  it('no longer plays an answer only when it is whole: sound begins while it is being written', async () => {
    const person = await talker();
    // It is being written for longer than it takes to look, however busy the machine is.
    const endless = LONG.repeat(8);
    answer(endless);
    staged.demo.fake.utterances.push('Go on.');
    await person.talk('payment');
    await person.hears();
    expect(await person.isBusy()).toBe(true);
    expect((await person.answers.last().innerText()).length).toBeLessThan(endless.length);
    await person.page.keyboard.press('Escape');
    await expect.poll(() => person.isBusy()).toBe(false);
  });

  it('[B28] whoever presses to talk silences the agent within 50 ms, and only what was heard is kept', async () => {
    const person = await talker();
    answer(LONG);
    staged.demo.fake.utterances.push('Go on.', 'Stop it.');
    await person.talk('payment');
    await person.hears();
    answer('Fine.');
    await person.hold();
    expect(await person.silentAfter()).toBeLessThan(50);
    await person.utter('weather');
    await person.letGo();
    await person.own.getByText('Stop it.').waitFor();
    await person.answers.getByText('Fine.').waitFor();
    const interrupted = await person.answers.nth(0).innerText();
    expect(LONG).toContain(interrupted.split('\n')[0]?.trim());
    expect(interrupted.length).toBeLessThan(LONG.length / 2);
    // What is stored ends there, too.
    await person.page.reload();
    await person.answers.getByText('Fine.').waitFor();
    expect((await person.answers.nth(0).innerText()).split('\n')[0]).toBe(interrupted.split('\n')[0]);
  });

  it('[B28] [B14] hands-free, too: silent within 50 ms of the first sound that counts as speech, and a card stays open', async () => {
    const person = await talker();
    answer('One moment.', { name: 'process_payment', args: { amount: 50, recipient: 'Alice' } });
    staged.demo.fake.utterances.push(
      'Send fifty dollars to Alice.',
      'Tell me something meanwhile.',
      'Yes, do it.',
    );
    await person.handsFree();
    await person.utter('payment');
    await person.cards.first().waitFor();
    answer(LONG);
    await person.utter('weather');
    await person.own.getByText('Tell me something meanwhile.').waitFor();
    await person.hears();
    // Longer than it takes to press it, however busy the machine is.
    answer('Please press the button on the card. '.repeat(16));
    await person.page.evaluate(() => {
      window.room.markAt = 'speech';
    });
    await person.utter('weather');
    expect(await person.silentAfter()).toBeLessThan(50);
    // "Yes" aloud decides nothing.
    await person.own.getByText('Yes, do it.').waitFor();
    await person.hears();
    expect(await person.statesOfCards()).toEqual(['requested']);
    // The person decides while the agent is speaking, and it goes on.
    answer('Paid.');
    await person.approve();
    await person.card('done').waitFor();
    expect(await person.speaker('agent').count()).toBe(1);
    await person.hears();
    expect(staged.demo.fake.refused).toEqual([]);
  });

  it('no longer gives text or sound but not both: both sides are read while sound plays, and typed words go the same way', async () => {
    const person = await talker();
    answer(LONG);
    staged.demo.fake.utterances.push('Tell me something.');
    await person.talk('payment');
    await person.own.getByText('Tell me something.').waitFor();
    await person.hears();
    await person.answers.getByText(/This is a long answer/).waitFor();
    await person.bar.getByRole('button', { name: 'Mute assistant' }).click();
    await person.page.waitForFunction(() => window.room.listen().level < 0.001);
    expect(await person.isBusy()).toBe(true);
    answer('Typed words are answered, too.');
    await person.box.fill('And this is typed.');
    await person.page.keyboard.press('Control+Enter');
    await person.answers.getByText('Typed words are answered, too.').waitFor();
    expect(await person.own.allInnerTexts()).toEqual(['Tell me something.', 'And this is typed.']);
  });

  it('no longer loses a session on reconnect: what is said while the network is away is heard when it is back', async () => {
    const relay = await new Relay(staged.demo.url).start();
    here.after(() => relay.dispose());
    const person = await talker({ url: relay.url });
    staged.demo.fake.utterances.push('First words.', 'What is the weather in Tokyo?');
    await person.talk('payment');
    await person.own.getByText('First words.').waitFor();
    await person.hold();
    relay.cut();
    await person.connection('reconnecting').waitFor();
    await person.utter('weather');
    await person.letGo();
    relay.restore();
    await person.own.getByText('What is the weather in Tokyo?').waitFor();
    await person.answers.getByText(/Tokyo/).first().waitFor();
    expect(await person.own.allInnerTexts()).toEqual(['First words.', 'What is the weather in Tokyo?']);
  });

  it('[B31] whoever loses the floor in the middle of a sentence is told, and the microphone is off', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('Hello.');
    await person.talk('payment');
    await person.own.getByText('Hello.').waitFor();
    const other = Talker.at(await person.page.context().newPage());
    await other.page.goto(person.page.url());
    await other.own.getByText('Hello.').waitFor();
    await person.hold();
    const spoken = person.utter('payment');
    await person.speaker('person').waitFor();
    await other.page.getByRole('button', { name: 'Use here' }).click();
    await person.error(/another tab/).waitFor();
    await person.status('off').waitFor();
    await spoken;
  });

  it('a tap on the button listens hands-free, and says nothing by itself', async () => {
    const person = await talker();
    staged.demo.fake.utterances.push('Said after the tap.');
    await person.tap();
    await person.status('listening').waitFor();
    await person.bar.getByText('Listening', { exact: true }).waitFor();
    await person.utter('weather');
    await person.own.getByText('Said after the tap.').waitFor();
    expect(await person.page.evaluate(() => window.room.asked.length)).toBe(1);
    await person.tap();
    await person.status('off').waitFor();
    expect(await person.own.count()).toBe(1);
  });
});

describe('with another model', () => {
  it('[B26d] one that cannot hear says so before the microphone is switched on', async () => {
    const person = await talker({
      prepare: async (context) => {
        await furnish(context);
        await context.routeWebSocket(/\/live/, (near) => {
          const far = near.connectToServer();
          far.onMessage((data) => near.send(String(data).replace('"hears":true', '"hears":false')));
        });
      },
    });
    await person.microphone.focus();
    await person.page.keyboard.press('Enter');
    await person.error(/can’t hear/).waitFor();
    expect(await person.page.evaluate(() => window.room.asked)).toEqual([]);
  });

  it('one whose ears cannot be fetched says why, and text goes on', async () => {
    const person = Talker.at(await here.open({ prepare: furnish }));
    await person.microphone.click();
    await person.page
      .getByTestId('voice-failed')
      .getByText(/Voice could not be downloaded/)
      .waitFor();
    expect(await person.page.evaluate(() => window.room.asked)).toEqual([]);
    await person.say('hello');
    await person.answers.first().waitFor();
  });
});
