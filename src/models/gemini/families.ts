import type { Tool } from '@google/genai';

/** A tool that the service itself runs, as a setup names it. */
type BuiltIn = Exclude<keyof Tool, 'functionDeclarations'>;

/** What a family of Gemini's live models takes, and how it behaves. */
export interface LiveFamily {
  name: '2.5' | '3.1' | '3.8' | '3.8 extended thinking';
  /** How it is told to think. `level`: always with one, since a setup without is refused. */
  thinking: 'budget' | 'optional level' | 'none' | 'level';
  /** Whether its setup may say when it speaks by itself, and that it listens to the tone of a voice. */
  takesMoods: boolean;
  /** What may be said about waiting for a call. `all`: every call goes on beside the conversation. */
  behavior: 'chosen' | 'none' | 'explicit' | 'all';
  /** The tools of the service itself that it has beside functions. */
  builtIn: readonly BuiltIn[];
  /** Whether a function response may say when it is spoken of. */
  takesScheduling: boolean;
  /** Whether typed text is realtime input, which interrupts by itself. */
  typesInRealtime: boolean;
  /** Whether a history has to be announced in the setup. Otherwise one that is left open makes nobody speak. */
  announcesHistory: boolean;
  /** Whether a piece of the person's transcript is a whole utterance. */
  hearsWholeUtterances: boolean;
  /** Whether it may go on after its turn is complete, and says when it rests. */
  saysWhenIdle: boolean;
}

const V2_5: LiveFamily = {
  name: '2.5',
  thinking: 'budget',
  takesMoods: true,
  behavior: 'chosen',
  builtIn: ['googleSearch'],
  takesScheduling: true,
  typesInRealtime: false,
  announcesHistory: false,
  hearsWholeUtterances: false,
  saysWhenIdle: false,
};

const V3_1: LiveFamily = {
  ...V2_5,
  name: '3.1',
  thinking: 'optional level',
  takesMoods: false,
  behavior: 'none',
  takesScheduling: false,
  typesInRealtime: true,
  announcesHistory: true,
  hearsWholeUtterances: true,
};

const V3_8: LiveFamily = {
  ...V3_1,
  name: '3.8',
  thinking: 'none',
  behavior: 'explicit',
  takesScheduling: true,
  announcesHistory: false,
};

const V3_8_THINKING: LiveFamily = {
  ...V3_8,
  name: '3.8 extended thinking',
  thinking: 'level',
  behavior: 'all',
  takesScheduling: false,
  saysWhenIdle: true,
};

/** The first pattern that fits decides. Names that nobody knows yet follow the newest family. */
const FAMILIES: readonly [RegExp, LiveFamily | string][] = [
  [/-live-translate|-translate-live/, 'it only translates speech'],
  [/-transcribe-live|-live-transcribe/, 'it only writes down speech'],
  [/gemini-(live-)?2\.\d/, V2_5],
  [/gemini-3\.1-/, V3_1],
  [/-live-.*thinking/, V3_8_THINKING],
];

/** The family of a live model. A model that holds no conversation is refused in words. */
export function liveFamilyOf(model: string): LiveFamily {
  const found = FAMILIES.find(([pattern]) => pattern.test(model))?.[1] ?? V3_8;
  if (typeof found !== 'string') return found;
  throw new Error(
    `The model ${model} holds no conversation: ${found}. Choose another, such as gemini-3.8-live.`,
  );
}

/** What a family takes on Vertex, which has no calls that go on beside the conversation for 2.5, and tools of its own. */
export function onVertex(family: LiveFamily): LiveFamily {
  const builtIn: BuiltIn[] = [...family.builtIn, 'retrieval'];
  if (family.name !== '2.5') return { ...family, builtIn };
  return { ...family, builtIn: [...builtIn, 'codeExecution'], behavior: 'none', takesScheduling: false };
}

/** Whether a model of this name speaks Gemini's live protocol. */
export function isLiveModelName(model: string): boolean {
  return /(^|[-/])(live|native-audio)([-/]|$)/.test(model);
}
