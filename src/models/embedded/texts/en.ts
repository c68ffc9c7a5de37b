/** The English texts of the embedded model. The type of this object lists the texts that every other language must have. */
export const en = {
  /** The abilities that every agent has, for the answer to a request for help. The rule of each tool adds its own line. */
  abilities: [
    'pictures: send one, and I tell you its format, its size and, if I can decode it, its main colours',
    'files: send one, and I tell you its type and its size, and of a text how it begins',
    'this conversation: “What did I ask before?”, “What is my name?”',
  ],
  canHelp: 'I can help with:',
  cannotContinue: 'I cannot continue from there. Please ask me again.',

  unknown: {
    thought: 'No rule of mine fits this.',
    /** The first words of an answer to a message that no rule understands. In later turns the model counts such answers by these words. */
    mark: 'I did not understand that',
    tooLong: (characters: number) =>
      `This message is too long for my rules (more than ${characters} characters), so I did nothing. I can help with:`,
    first: (mark: string) => `${mark}: I am a set of rules, not an LLM. I can help with:`,
    next: (mark: string, example: string) =>
      `${mark} either. One thing that I can do: ${example}. Ask “What can you do?” for all of them.`,
  },

  results: {
    anythingElse: 'Is there anything else?',
    none: 'There is no result to report.',
    subject: (tool: string) => `the call to ${tool}`,
    done: (tool: string) => `${tool} is done.`,
    noReason: 'no reason was given.',
    pending: (subject: string) => `${upper(subject)} is still waiting for you.`,
    denied: (subject: string, reason: string | undefined) =>
      `${upper(subject)} was denied${reason === undefined ? '' : ` (${reason})`}, so it did not happen.`,
    approvalTimeout: (subject: string) => `The approval for ${subject} timed out, so it did not happen.`,
    resultTimeout: (subject: string) => `No result came in time for ${subject}.`,
    unknown: (subject: string) =>
      `The outcome of ${subject} is unknown: it may or may not have happened. Please check before you ask again.`,
    cancelled: (subject: string) => `${upper(subject)} was cancelled, so it did not happen.`,
    refused: (subject: string, why: string) => `${upper(subject)} was refused: ${sentence(why)}`,
    failed: (subject: string, why: string) => `${upper(subject)} failed: ${sentence(why)}`,
    silent: (subject: string) => `I got no result for ${subject}, so I cannot say whether it happened.`,
    /** Formats the reason of a failure: the error text of a tool, or its translation. */
    reason: (why: string) => why,
  },

  approval: {
    lost: {
      thought: 'The person approves in a message, but only the card could approve the call.',
      text: 'A message cannot approve, and it cancelled the card. Please ask again, and press Approve on the card.',
    },
    open: {
      thought: 'The person answers the approval request in a message, but only the card can answer it.',
      text: 'I cannot take a decision from a message. Please press Approve or Deny on the card.',
    },
  },

  past: {
    thought: 'The person asks what they wrote before.',
    first: 'This is the first thing you have asked me.',
    before: (text: string) => `Before this you wrote: “${text}”`,
  },

  again: {
    nothing: {
      thought: 'The person asks for the same again, but I have called no tool yet.',
      text: 'There is nothing to repeat yet.',
    },
    thought: 'The person asks for the same again.',
  },

  name: {
    told: (name: string) => ({
      thought: `The person is called ${name}.`,
      text: `Nice to meet you, ${name}!`,
    }),
    thought: 'The person asks for their own name.',
    unknown: 'You have not told me your name yet.',
    known: (name: string) => `Your name is ${name}.`,
  },

  help: { thought: 'The person asks what I can do.' },

  identity: {
    thought: 'The person asks what I am.',
    text: 'I am the embedded model of Duologue: a set of hand-written rules, not an LLM. I run offline and need no key, and I only understand what my rules cover. To talk to a real model, start the server with a key, for example `GOOGLE_API_KEY`.',
  },

  picture: {
    thought: 'The person asks about a picture.',
    none: 'I see no picture in this conversation. Send one (PNG, JPEG or WebP), and I tell you its format, size and main colours.',
    limits: 'As a set of rules I cannot tell what it shows.',
    unreadable: 'I could not read this picture: it is no PNG, JPEG, WebP or GIF that I know.',
    facts: (format: string, size: string) => `This is a ${format} picture of ${size} pixels.`,
    noColours: (format: string) => ` I cannot compute its colours (${format} data I cannot decode).`,
    colour: (name: string, hex: string, share: string) => `${name} (${hex}, ${share})`,
    transparent: (share: string) => ` ${share} of it is transparent.`,
    colours: (colours: string) => ` Its main colours: ${colours}.`,
    names: {
      black: 'black',
      white: 'white',
      grey: 'grey',
      red: 'red',
      orange: 'orange',
      brown: 'brown',
      yellow: 'yellow',
      green: 'green',
      cyan: 'cyan',
      blue: 'blue',
      purple: 'purple',
      pink: 'pink',
    },
  },

  file: {
    thought: 'The person sent a file.',
    unnamed: 'A file without a name',
    facts: (name: string, type: string, bytes: string) =>
      `${name}: a file of the type ${type} with ${bytes} bytes.`,
    lines: (count: number, first: string) =>
      ` It is text of ${count} ${count === 1 ? 'line' : 'lines'}. The first line: “${first}”.`,
    limits: 'I got the file. As a set of rules I cannot tell what it means.',
  },

  /** Small talk. `name` is the user's name, and `abilities` lists what the tools do; either may be empty. */
  talk: {
    greeting: {
      thought: 'The person greets me.',
      reply: (name: string, abilities: string) =>
        `Hello${name === '' ? '' : ` ${name}`}!${abilities === '' ? '' : ` I can ${abilities}.`} What would you like?`,
    },
    howAreYou: {
      thought: 'The person asks how I am.',
      reply: () => 'I am a set of rules, so always the same, thank you. What can I do for you?',
    },
    thanks: {
      thought: 'The person thanks me.',
      reply: (name: string) => `You are welcome${name === '' ? '' : `, ${name}`}!`,
    },
    goodbye: {
      thought: 'The person says goodbye.',
      reply: (name: string) => `Goodbye${name === '' ? '' : `, ${name}`}!`,
    },
    shortWord: {
      thought: 'A short word, and no question of mine is open.',
      reply: () => 'All right. I have no open question; tell me what you would like next.',
    },
  } satisfies Record<string, { thought: string; reply: (name: string, abilities: string) => string }>,
};

/** The texts that every language must have. */
export type EmbeddedTexts = typeof en;

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function sentence(text: string): string {
  return /[.!?。]$/.test(text) ? text : `${text}.`;
}
