const en = {
  title: 'Music',
  suggestions: [{ title: 'Music', text: 'Play track 2' }],
  asked: 'Change the background music to track {track}.',
  done: 'Changed the background music to track {track}.',
  playing: (track: string) => `Now playing: ${track}`,
  volume: 'Volume',
  tracks: { 1: 'Slow morning', 2: 'Night tram' } as Record<1 | 2, string>,
  track: (number: number) => `Track ${number}`,
  blocked: 'The browser allows no sound yet. Press play once.',
};

const ja: typeof en = {
  title: '音楽',
  suggestions: [{ title: '音楽', text: 'トラック2を流して' }],
  asked: '音楽をトラック {track} に変えます。',
  done: '音楽をトラック {track} に変えました。',
  playing: (track) => `再生中：${track}`,
  volume: '音量',
  tracks: { 1: 'ゆっくりした朝', 2: '夜の路面電車' },
  track: (number) => `トラック ${number}`,
  blocked: 'ブラウザーがまだ音を許可していません。一度再生を押してください。',
};

/** What the page says about the music. */
export const WORDS = { en, ja };
