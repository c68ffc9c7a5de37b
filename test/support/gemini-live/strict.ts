import type { LiveFamily } from '../../../src/models/gemini/families.ts';

/** A message that the service would not take: it closes with this code and reason. */
export class Refusal extends Error {
  readonly code: number;

  constructor(code: number, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** A setup that the service neither takes nor refuses. */
export class Hangs extends Error {}

type Json = Record<string, unknown>;

/** Behaviour of the service that was not measured, or that changes from day to day: the tests must pass with every value. */
export interface Quirks {
  /** How the service treats a setup with a field that this family of models no longer has. */
  removedFields: 'refused' | 'hang';
  /** How the service treats a response to a call that the model did not make. */
  unknownIds: 'ignored' | 'refused';
  /** What a resumed session does with an answer that the loss of the socket cut off. */
  afterResume: 'goes on' | 'is silent';
  /** When the model speaks of tool results: when it has all of a turn, or after each. */
  speaksOfResults: 'together' | 'one by one';
  /** How often the service sends a resumption handle. */
  handles: 'once' | 'again and again' | 'never';
  /** Whether the words of speech come before its end, after it together with the last of its sound, or not at all. */
  transcripts: 'in time' | 'late' | 'missing' | 'repeated';
  /** Which message has the token counts. */
  usage: 'with the end' | 'alone' | 'late' | 'missing';
  /** Whether the service sends thoughts. */
  thinksAloud: boolean;
  /** How the service treats a setup in which the client signals when the user speaks. */
  activitySignals: 'taken' | 'refused';
}

export const QUIRKS: Quirks = {
  removedFields: 'refused',
  unknownIds: 'refused',
  afterResume: 'goes on',
  speaksOfResults: 'together',
  handles: 'once',
  transcripts: 'in time',
  usage: 'with the end',
  thinksAloud: false,
  activitySignals: 'taken',
};

const SETUP = [
  'model',
  'generationConfig',
  'systemInstruction',
  'tools',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'realtimeInputConfig',
  'contextWindowCompression',
  'sessionResumption',
  'historyConfig',
];
const GENERATION = [
  'responseModalities',
  'speechConfig',
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'seed',
  'mediaResolution',
  'thinkingConfig',
];

/** The error for a setup in which the client signals when the user speaks. */
export const NO_SIGNALS = `Unknown name "disabled" at 'setup.realtime_input_config.automatic_activity_detection': Cannot find field.`;

/** What a session was set up with. */
export interface Setup {
  model: string;
  handle: string | undefined;
  /** Whether the calls of each tool block the conversation, by name. */
  isBlocking: Map<string, boolean>;
  system: string;
  detectsActivity: boolean;
  announcesHistory: boolean;
}

/** Reads a setup as strictly as the service does. */
export function readSetup(setup: Json, family: LiveFamily, quirks: Quirks, isVertex: boolean): Setup {
  const generation = object(setup.generationConfig ?? {}, 'setup.generation_config');
  const removed = [setup.proactivity, generation.enableAffectiveDialog].some((value) => value !== undefined);
  if (removed && !family.acceptsMoods) {
    if (quirks.removedFields === 'hang') throw new Hangs();
    throw new Refusal(1007, `Unknown name "proactivity" at 'setup': Cannot find field.`);
  }
  known(setup, family.acceptsMoods ? [...SETUP, 'proactivity'] : SETUP, 'setup');
  known(generation, family.acceptsMoods ? [...GENERATION, 'enableAffectiveDialog'] : GENERATION, 'setup');
  const modalities = generation.responseModalities as unknown[] | undefined;
  must(
    !modalities?.includes('TEXT'),
    1007,
    'The requested combination of response modalities (TEXT) is not supported by the model.',
  );
  checkThinking(generation.thinkingConfig as Json | undefined, family);
  const resumption = object(setup.sessionResumption ?? {}, 'setup.session_resumption');
  known(resumption, isVertex ? ['handle', 'transparent'] : ['handle'], 'setup.session_resumption');
  must(resumption.handle !== null, 1007, 'Request contains an invalid argument.');
  const isBlocking = new Map<string, boolean>();
  const tools = ['functionDeclarations', 'googleSearch'];
  if (isVertex) tools.push('retrieval', ...(family.name === '2.5' ? ['codeExecution'] : []));
  for (const tool of list(setup.tools ?? [])) {
    const other = Object.keys(tool).find((name) => !tools.includes(name));
    must(other === undefined, 1007, `setup.tools: ${other} is not supported by the model`);
    for (const { name, behavior } of list(tool.functionDeclarations ?? [])) {
      if (family.behavior === 'none')
        must(behavior === undefined, 1007, 'behavior is not supported by the model');
      if (family.behavior === 'all')
        must(behavior === 'NON_BLOCKING', 1007, 'BLOCKING is not supported by the model');
      const usual = family.behavior === 'chosen' || family.behavior === 'none' ? 'BLOCKING' : 'NON_BLOCKING';
      isBlocking.set(String(name), (behavior ?? usual) === 'BLOCKING');
    }
  }
  const { parts = [] } = (setup.systemInstruction ?? {}) as { parts?: { text?: string }[] };
  const realtime = object(setup.realtimeInputConfig ?? {}, 'setup.realtime_input_config');
  const detection = object(realtime.automaticActivityDetection ?? {}, 'automatic_activity_detection');
  must(quirks.activitySignals === 'taken' || detection.disabled !== true, 1007, NO_SIGNALS);
  const history = object(setup.historyConfig ?? {}, 'setup.history_config');
  return {
    model: String(setup.model),
    handle: resumption.handle === undefined ? undefined : String(resumption.handle),
    isBlocking,
    system: parts.map(({ text }) => text ?? '').join('\n'),
    detectsActivity: detection.disabled !== true,
    announcesHistory: history.initialHistoryInClientContent === true,
  };
}

function checkThinking(config: Json | undefined, { thinking }: LiveFamily): void {
  const { thinkingLevel, thinkingBudget } = config ?? {};
  const isTaken = {
    none: config === undefined,
    budget: thinkingLevel === undefined,
    'optional level': thinkingBudget === undefined,
    level: ['LOW', 'MEDIUM', 'HIGH'].includes(String(thinkingLevel)) && thinkingBudget === undefined,
  }[thinking];
  must(isTaken, 1007, 'thinking_config: Request contains an invalid argument: is not supported by the model');
}

/** Reads turns of content as strictly as the service does. */
export function readTurns(turns: unknown): { role: 'user' | 'model'; parts: { text?: string }[] }[] {
  return list(turns ?? []).map(({ role, parts, ...rest }) => {
    known(rest, [], 'client_content.turns');
    must(role === 'user' || role === 'model', 1007, 'Please use a valid role: user, model.');
    const all = list(parts);
    must(all.length > 0, 1007, 'Request contains an invalid argument.');
    for (const part of all) {
      known(part, ['text', 'inlineData'], 'client_content.turns.parts');
      const { mimeType } = (part.inlineData ?? { mimeType: 'image/' }) as { mimeType: string };
      must(mimeType.startsWith('image/'), 1007, 'Request contains an invalid argument.');
    }
    return { role, parts: all };
  });
}

/** Reads responses as strictly as the service does; whether the calls were made is another question. */
export function readResponses(
  toolResponse: unknown,
  family: LiveFamily,
  isVertex: boolean,
): { id: string | undefined; name: string; response: Json; scheduling: string | undefined }[] {
  return list(object(toolResponse, 'tool_response').functionResponses).map((one) => {
    known(one, ['id', 'name', 'response', 'scheduling', 'willContinue'], 'function_responses');
    must(typeof one.name === 'string', 1007, 'function_responses.name');
    must(isVertex || typeof one.id === 'string', 1007, 'function_responses.id');
    must(
      one.scheduling === undefined || family.acceptsScheduling,
      1007,
      'scheduling is not supported by the model',
    );
    return {
      id: one.id === undefined ? undefined : String(one.id),
      name: String(one.name),
      response: object(one.response, 'function_responses.response'),
      scheduling: one.scheduling === undefined ? undefined : String(one.scheduling),
    };
  });
}

/** Reads realtime input: exactly one thing, and signals of activity only where they are the client's to give. */
export function readRealtime(input: Json, { detectsActivity }: Setup): Json {
  const kinds = ['audio', 'video', 'text', 'activityStart', 'activityEnd', 'audioStreamEnd'];
  known(input, kinds, 'realtime_input');
  must(Object.keys(input).length === 1, 1007, 'realtime_input: Request contains an invalid argument.');
  if ('activityStart' in input || 'activityEnd' in input) {
    const words = 'Explicit activity control is not supported when automatic activity detection is enabled.';
    must(!detectsActivity, 1007, words);
  }
  if ('audioStreamEnd' in input) must(detectsActivity, 1007, 'audio_stream_end: invalid argument');
  return input;
}

export function must(holds: unknown, code: number, reason: string): asserts holds {
  if (!holds) throw new Refusal(code, reason);
}

function known(value: object, names: readonly string[], where: string): void {
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  must(unknown === undefined, 1007, `Unknown name "${unknown}" at '${where}': Cannot find field.`);
}

function object(value: unknown, where: string): Json {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  must(isObject, 1007, `Invalid value at '${where}'`);
  return value as Json;
}

function list(value: unknown): Json[] {
  must(Array.isArray(value), 1007, 'Request contains an invalid argument.');
  return value.map((one) => object(one, 'list'));
}
