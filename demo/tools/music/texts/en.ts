/** What the page says about the music. */
export const page = {
  title: 'Music',
  suggestions: [{ title: 'Music', text: 'Play track 2' }],
  asked: 'Change the background music to track {track}.',
  done: 'Changed the background music to track {track}.',
  switched: (track: string) => `Switched to: ${track}`,
  volume: 'Volume',
  tracks: { 1: 'Slow morning', 2: 'Night tram' } as Record<1 | 2, string>,
  track: (number: number) => `Track ${number}`,
  blocked: 'The browser is blocking sound. Press play once.',
};

/** The error texts of the tool, which the assistant and the user see. */
export const errors = {
  noTrack: 'There are two tracks: 1 and 2.',
  blocked: 'The browser allows no sound before the user presses something on the page.',
};

/** What the embedded model says about the music. */
export const model = {
  does: 'change the music',
  example: 'the music: “Play track 2”',
  noTool: {
    thought: 'The music, but there is no tool for it here.',
    text: 'I cannot change the music here: this agent has no music tool.',
  },
  unable: {
    thought: 'Something about the music that I cannot do.',
    text: 'I can only switch the background music between track 1 and track 2. To stop it or change its volume, press the music button at the top of the page: a note, or moving bars while music plays.',
  },
  wanted: (track: number) => `The person wants to hear track ${track}.`,
  subject: (track: string) => `the change to track ${track}`,
  changed: (track: string) => `I changed the background music to track ${track}.`,
};
