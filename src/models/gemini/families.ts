import type { Tool } from '@google/genai';

/** The name of a tool that Gemini runs itself, as a field of `Tool`. */
type BuiltIn = Exclude<keyof Tool, 'functionDeclarations'>;

/** What a family of Gemini's live models accepts, and how it behaves. */
export interface LiveFamily {
  name: '2.5' | '3.1' | '3.8' | '3.8 extended thinking';
  /**
   * What the setup says about thinking. `budget`: the agent's thinking budget, if it has one; `optional level`: the agent's thinking level, if it has one;
   * `level`: always a level, because the service refuses a setup without one; `none`: nothing.
   */
  thinking: 'budget' | 'optional level' | 'none' | 'level';
  /** Whether the setup may have `proactivity` and `enableAffectiveDialog`. */
  acceptsMoods: boolean;
  /**
   * Which functions declare `behavior` in the setup. `chosen`: only non-blocking functions; `none`: none, because the service refuses it; `explicit`:
   * every function; `all`: every function, and all are non-blocking.
   */
  behavior: 'chosen' | 'none' | 'explicit' | 'all';
  /** The tools that Gemini runs itself. */
  builtIn: readonly BuiltIn[];
  /** Whether a function response may have `scheduling`. */
  acceptsScheduling: boolean;
  /** Whether typed text is sent as realtime input. Realtime input interrupts the model. */
  typesInRealtime: boolean;
  /**
   * Whether the setup must announce that a history follows. Without an announcement, the model answers the history unless it is sent with `turnComplete:
   * false`.
   */
  announcesHistory: boolean;
  /** Whether each transcript of the user's speech is a whole utterance. */
  wholeUtterances: boolean;
  /** Whether the model may continue after `turnComplete`, and reports when it becomes idle. */
  reportsIdle: boolean;
}

const V2_5: LiveFamily = {
  name: '2.5',
  thinking: 'budget',
  acceptsMoods: true,
  behavior: 'chosen',
  builtIn: ['googleSearch'],
  acceptsScheduling: true,
  typesInRealtime: false,
  announcesHistory: false,
  wholeUtterances: false,
  reportsIdle: false,
};

const V3_1: LiveFamily = {
  ...V2_5,
  name: '3.1',
  thinking: 'optional level',
  acceptsMoods: false,
  behavior: 'none',
  acceptsScheduling: false,
  typesInRealtime: true,
  announcesHistory: true,
  wholeUtterances: true,
};

const V3_8: LiveFamily = {
  ...V3_1,
  name: '3.8',
  thinking: 'none',
  behavior: 'explicit',
  acceptsScheduling: true,
  announcesHistory: false,
};

const V3_8_THINKING: LiveFamily = {
  ...V3_8,
  name: '3.8 extended thinking',
  thinking: 'level',
  behavior: 'all',
  acceptsScheduling: false,
  reportsIdle: true,
};

/**
 * The families by patterns of model names; the first match decides. A string says why the model cannot be used. A name without a match belongs to the
 * newest family.
 */
const FAMILIES: readonly [RegExp, LiveFamily | string][] = [
  [/-live-translate|-translate-live/, 'it only translates speech'],
  [/-transcribe-live|-live-transcribe/, 'it only writes down speech'],
  [/gemini-(live-)?2\.\d/, V2_5],
  [/gemini-3\.1-/, V3_1],
  [/-live-.*thinking/, V3_8_THINKING],
];

/** The family of a live model. Throws for a model that cannot hold a conversation, such as one that only translates. */
export function liveFamilyOf(model: string): LiveFamily {
  const found = FAMILIES.find(([pattern]) => pattern.test(model))?.[1] ?? V3_8;
  if (typeof found !== 'string') return found;
  throw new Error(
    `The model ${model} cannot hold a conversation: ${found}. Choose another, such as gemini-3.8-live.`,
  );
}

/** The same family on Vertex AI, where models have more built-in tools, and models of 2.5 have no non-blocking calls. */
export function onVertex(family: LiveFamily): LiveFamily {
  const builtIn: BuiltIn[] = [...family.builtIn, 'retrieval'];
  if (family.name !== '2.5') return { ...family, builtIn };
  return { ...family, builtIn: [...builtIn, 'codeExecution'], behavior: 'none', acceptsScheduling: false };
}

/** Whether the name is that of a model with Gemini's live API. */
export function isLiveModelName(model: string): boolean {
  return /(^|[-/])(live|native-audio)([-/]|$)/.test(model);
}
