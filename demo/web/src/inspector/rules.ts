/** The rules of PROTOCOL.md about each type of row, the most important first. */
const RULES: Readonly<Record<string, readonly string[]>> = {
  start: ['C6', 'S4'],
  'text-start': ['C7'],
  'text-delta': ['C7', 'S3'],
  'text-end': ['C7'],
  'reasoning-start': ['C7'],
  'reasoning-delta': ['C7', 'S3'],
  'reasoning-end': ['C7'],
  'tool-input-start': ['C9', 'T3'],
  'tool-input-available': ['C9', 'T3'],
  'tool-approval-request': ['T10', 'T16', 'C8'],
  'tool-output-available': ['C9', 'T12'],
  'tool-output-error': ['T4', 'T5'],
  'tool-output-denied': ['T4'],
  'start-step': ['C8', 'B12'],
  'finish-step': ['C8', 'B12'],
  file: ['S12'],
  'source-url': ['C1'],
  'message-metadata': ['C12'],
  error: ['S7'],
  finish: ['C12', 'S5'],
  '[DONE]': ['C5', 'B13'],
  'data-image': ['C10', 'S12'],
  'data-executable-code': ['C10'],
  'data-code-execution-result': ['C10'],
  'data-pcm': ['C10', 'B9'],
  'data-audio': ['C10'],
  'data-transcript': ['C10'],
  'data-settled': ['T18', 'C10'],
  'data-waiting': ['S17'],
  'data-error': ['E2', 'B18'],
  'data-accepted': ['B25'],
  'data-session': ['B10', 'B26'],
  'data-floor': ['B30', 'B31'],
  'data-message': ['B32'],
  'data-decided': ['B32', 'T9'],
  'data-rewind': ['B32', 'S11'],
  'data-sound': ['B27'],
  'data-heard': ['B28'],
  'data-reset': ['R5'],
  message: ['B2', 'C14'],
  tool_result: ['B3', 'B15'],
  interrupt: ['B6', 'B28'],
  floor: ['B31'],
  audio_control: ['B4', 'B29'],
  audio_chunk: ['B4'],
  video_frame: ['B5'],
  ping: ['B7'],
  pong: ['B7'],
  binary: ['C13'],
  open: ['B9', 'R6'],
  close: ['E5', 'B19'],
  'POST /stream': ['S1', 'S2'],
};

/** The rules about requests whose paths contain an id. */
const PATHS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^GET \/stream\//, ['R1', 'R2']],
  [/^POST \/sessions\/.*\/stop$/, ['S8']],
  [/^(GET|POST) \/sessions\/.*\/watch$/, ['S20', 'B32']],
  [/^GET \/sessions\//, ['S18']],
];

/** The rules about a type of row. */
export function rulesOf(type: string): readonly string[] {
  const known = RULES[type] ?? PATHS.find(([path]) => path.test(type))?.[1];
  return known ?? (type.startsWith('data-') ? ['C10'] : []);
}

/** Finds all rules of PROTOCOL.md, by number. */
export function rulesIn(document: string): ReadonlyMap<string, string> {
  const rules = new Map<string, string>();
  for (const [, number = '', text = ''] of document.matchAll(/^\*\*([A-Z]\d+[a-z]?)\*\* (.+)$/gm)) {
    rules.set(number, text);
  }
  return rules;
}

/** Loads PROTOCOL.md, which is a part of the build, and returns its rules. */
export async function loadRules(): Promise<ReadonlyMap<string, string>> {
  const { default: document } = await import('../../../../PROTOCOL.md?raw');
  return rulesIn(document);
}
