import {
  APPROVAL_TIMED_OUT,
  ARGUMENTS_UNREADABLE,
  CANCELLED,
  CONFIRMATION_TOOL,
  declinedText,
  denialText,
  ERRORS,
  INTERRUPTED,
  OUTCOME_UNKNOWN,
  outputTimedOut,
  QUESTION_TIMED_OUT,
  SIGNED_OUT,
  SUPERSEDED,
  stateConflict,
  toolTimedOut,
} from '../../src/protocol/index.ts';
import type { ErrorText, Messages } from './find-messages.ts';

/** Texts that are part of the protocol, each with the rule that fixes it. Programs may compare them, so they never change. */
export const FROZEN: readonly { text: string; rule: string }[] = [
  { text: denialText(), rule: 'T4' },
  { text: denialText('<reason>'), rule: 'T4' },
  ...[
    APPROVAL_TIMED_OUT,
    outputTimedOut('<tool>'),
    QUESTION_TIMED_OUT,
    declinedText(),
    SUPERSEDED,
    INTERRUPTED,
    CANCELLED,
    OUTCOME_UNKNOWN,
    SIGNED_OUT,
    stateConflict('<tool>'),
    toolTimedOut('<tool>'),
    ARGUMENTS_UNREADABLE,
  ].map((text) => ({ text, rule: 'T5' })),
  { text: CONFIRMATION_TOOL, rule: 'T21' },
];

/** The page `docs/messages.md`: each text once, with the files that it comes from. */
export function pageOf({ logs, protocol, calls, thrown }: Messages): string {
  const lines = merged(
    logs.map(({ level, text, fields, file }) => ({ kind: level, text, file, fields })),
  ).map(({ kinds, text, files, fields }) => [
    kinds.join(', '),
    text,
    fields.map((field) => `\`${field}\``).join(', '),
    files.join(', '),
  ]);
  return [
    '# Log lines and errors',
    '',
    'Every text that Duologue writes to a log or gives to an error, for looking one up. `npm run messages` writes this page from the sources; a test compares. `{name}` stands for a value.',
    '',
    '## Log lines',
    '',
    'A line says what happened, then what follows from it or what to do. `session` stands for the fields that name the session and the request.',
    '',
    table(['level', 'line', 'fields', 'source'], lines),
    '',
    '## Errors that reach a client',
    '',
    'The code is stable; match it, not the text. [PROTOCOL.md](../PROTOCOL.md) says what each code means. A retryable error may succeed when the client sends the same request later.',
    '',
    table(
      ['code', 'retryable', 'text', 'source'],
      rowsOf(protocol, (code) => [shownCode(code), retryable(code)]),
    ),
    '',
    '## Frozen texts',
    '',
    'These texts are part of the protocol: programs, recorded conversations (`fixtures/frontend`) and other implementations compare them. They never change. Every other text on this page may change.',
    '',
    table(
      ['text', 'rule'],
      FROZEN.map(({ text, rule }) => [`\`${text}\``, rule]),
    ),
    '',
    '## Texts of failed tool calls',
    '',
    'The model gets them as the error of the call, and the page as `errorText`.',
    '',
    table(
      ['text', 'source'],
      rowsOf(calls, () => []),
    ),
    '',
    '## Errors that the package throws',
    '',
    table(
      ['class', 'text', 'source'],
      rowsOf(thrown, (name) => [`\`${name}\``]),
    ),
    '',
  ].join('\n');
}

function rowsOf(errors: readonly ErrorText[], shown: (kind: string) => string[]): string[][] {
  return merged(errors)
    .map(({ kinds, text, files }) => {
      const cells = kinds.map(shown);
      const first = (cells[0] ?? []).map((_, column) =>
        [...new Set(cells.map((one) => one[column]))].join(', '),
      );
      return [...first, text, files.join(', ')];
    })
    .sort((a, b) => (a[0] ?? '').localeCompare(b[0] ?? '', 'en'));
}

/** One entry for each text, with all its kinds and files. */
function merged(found: readonly (ErrorText & { fields?: string[] })[]) {
  const byText = new Map<string, { kinds: Set<string>; files: Set<string>; fields: Set<string> }>();
  for (const { kind, text, file, fields = [] } of found) {
    // Leaves out the contract tests for other stores, and exhaustiveness checks, which never fail in compiled code.
    if (/^src\/testing\/|exhaustive\.ts$/.test(file) || /^(?:\{[^{}]*\})?$/.test(text)) continue;
    const entry = byText.get(text) ?? { kinds: new Set(), files: new Set(), fields: new Set() };
    entry.kinds.add(kind);
    entry.files.add(file);
    for (const field of fields) entry.fields.add(field);
    byText.set(text, entry);
  }
  return [...byText].map(([text, { kinds, files, fields }]) => ({
    kinds: [...kinds].sort(),
    text,
    files: [...files].sort().map((file) => `\`${file.slice('src/'.length)}\``),
    fields: [...fields].sort(),
  }));
}

function shownCode(code: string): string {
  return code in ERRORS ? `\`${code}\`` : 'the code of the close';
}

function retryable(code: string): string {
  return code in ERRORS ? (ERRORS[code as keyof typeof ERRORS].retryable ? 'yes' : 'no') : '';
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}
