import { describe, expect, it } from 'vitest';
import { call, ScriptedModel, text } from '../../support/scripted-model.ts';
import { cardsIn, chunksOf, demo, outcomesIn, wordsIn } from '../support/demo.ts';

const tokyo = { latitude: 35.6762, longitude: 139.6503, accuracy: 20, timestamp: 1_700_000_000_000 };

describe('the music', () => {
  it.each([
    [{ track: 1 }, 1],
    [{ track: 2 }, 2],
    [{ track: '2' }, 2],
    [{ track_name: 'track 1' }, 1],
    [{ track_name: 'トラック2' }, 2],
    [{ track_name: '2' }, 2],
    [{ track: 1, track_name: 'track 2' }, 1],
  ])('over SSE the agent goes on at once with %j', async (args, track) => {
    const model = new ScriptedModel([[call('change_bgm', args)], [text('Changed.')]]);
    const { chunks, dones } = await demo({ model }).say('music');
    expect(chunksOf(chunks, 'tool-input-available')).toMatchObject([
      { input: args, toolMetadata: { runsOn: 'client', asks: false } },
    ]);
    expect(outcomesIn(chunks)).toEqual([{ success: true, track }]);
    expect(wordsIn(chunks)).toBe('Changed.');
    expect(dones).toBe(1);
  });

  it.each([
    {},
    { track: 0 },
    { track: 3 },
    { track: 1.5 },
    { track_name: 'jazz' },
    { track_name: 'track 12' },
  ])('there is no track %j, and the browser is not asked for it', async (args) => {
    const model = new ScriptedModel([[call('change_bgm', args)], [text('No.')]]);
    const { chunks } = await demo({ model }).say('music');
    expect(outcomesIn(chunks)).toEqual(['There are two tracks: 1 and 2.']);
  });

  it.each([
    ['Play track 2', { success: true, track: 2 }, 'I changed the background music to track 2.'],
    ['トラック2に変更して', { success: true, track: 2 }, '背景音楽をトラック2に変更しました。'],
  ])('over BIDI the agent waits for what the browser says: %s', async (texts, result, words) => {
    const socket = await demo().connect();
    socket.say(texts);
    const { toolCallId } = await socket.chunk('tool-input-available');
    expect(wordsIn(socket.chunks)).toBe('');
    socket.send('tool_result', { toolCallId, result });
    await socket.done();
    socket.close();
    expect(outcomesIn(socket.chunks)).toEqual([result]);
    expect(wordsIn(socket.chunks)).toBe(words);
  });

  it.each([
    ['Play track 2', 'The change to track 2 failed: The sound is off.'],
    ['トラック2に変更して', 'トラック2への変更は失敗しました：「The sound is off」'],
  ])('a browser that could not is told as it was: %s', async (texts, words) => {
    const socket = await demo().connect();
    socket.say(texts);
    const { toolCallId } = await socket.chunk('tool-input-available');
    socket.send('tool_result', { toolCallId, error: 'The sound is off' });
    await socket.done();
    socket.close();
    expect(outcomesIn(socket.chunks)).toEqual(['The sound is off']);
    expect(wordsIn(socket.chunks)).toBe(words);
  });
});

describe('the location', () => {
  it.each([
    ['Where am I?', 'You are near Tokyo (35.6762° N, 139.6503° E, within 20 m).'],
    ['現在地を教えて', '現在地は東京の近く（緯度35.6762、経度139.6503、誤差は約20m）です。'],
  ])('is asked of the person, then of the browser, over SSE: %s', async (texts, words) => {
    const { say, decide } = demo();
    const asked = await say(texts);
    expect(chunksOf(asked.chunks, 'tool-input-available')).toMatchObject([
      { toolName: 'get_location', input: {}, toolMetadata: { runsOn: 'client', asks: true } },
    ]);
    const [card] = cardsIn(asked);
    const { chunks } = await decide(card ? [{ ...card, output: tokyo }] : [], [true]);
    expect(outcomesIn(chunks)).toEqual([tokyo]);
    expect(wordsIn(chunks)).toBe(words);
  });

  it('is asked of the person, then of the browser, over BIDI', async () => {
    const socket = await demo().connect();
    socket.say('Where am I?');
    const { toolCallId } = await socket.chunk('tool-approval-request');
    socket.send('tool_result', { toolCallId, status: 'approved' });
    socket.send('tool_result', { toolCallId, result: tokyo });
    await socket.done();
    socket.close();
    expect(outcomesIn(socket.chunks)).toEqual([tokyo]);
  });

  it('is not told to anyone without the approval, whatever the browser sends', async () => {
    const { say, decide, audit } = demo();
    const [card] = cardsIn(await say('Where am I?'));
    const { chunks } = await decide(card ? [{ ...card, output: tokyo }] : [], [false]);
    expect(outcomesIn(chunks)).toEqual(['User denied the tool call']);
    expect(wordsIn(chunks)).toBe('Reading your location was denied, so it did not happen.');
    expect((await audit()).map(({ kind }) => kind)).toEqual(['issued', 'denied']);
  });

  it.each([
    ['Where am I?', 'Position unavailable', 'Reading your location failed: Position unavailable.'],
    ['現在地を教えて', 'Position unavailable', '現在地の取得は失敗しました：「Position unavailable」'],
    ['Where am I?', 'User denied Geolocation', 'Reading your location was denied, so it did not happen.'],
    ['現在地を教えて', 'User denied Geolocation', '現在地の取得は承認されなかったため、行っていません。'],
  ])('a browser that cannot or may not look is told as it was: %s, %s', async (texts, error, words) => {
    const socket = await demo().connect();
    socket.say(texts);
    const { toolCallId } = await socket.chunk('tool-approval-request');
    socket.send('tool_result', { toolCallId, status: 'approved' });
    socket.send('tool_result', { toolCallId, error });
    await socket.done();
    socket.close();
    expect(outcomesIn(socket.chunks)).toEqual([error]);
    expect(wordsIn(socket.chunks)).toBe(words);
  });
});
