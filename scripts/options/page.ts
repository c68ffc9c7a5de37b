import { readFileSync } from 'node:fs';
import { TRANSPORT_CHECKS } from '../../src/client/transport.ts';
import type { Check } from '../../src/protocol/options.ts';
import type { NestedCheck } from '../../src/server/option-checks.ts';
import { OPTION_CHECKS } from '../../src/server/options.ts';

type Checks = Readonly<Record<string, Check>>;

const source = new URL('../../src/', import.meta.url);

/** The interfaces whose comments describe the options, by the options that have fields of their own. */
const SERVER: Record<string, [file: string, name: string]> = {
  '': ['server/options.ts', 'DuologueOptions'],
  node: ['server/nodes/node.ts', 'NodeOptions'],
  artifacts: ['server/store/artifact-service.ts', 'ArtifactLimits'],
  rateLimit: ['server/access/limits.ts', 'RateLimit'],
  readLimit: ['server/access/limits.ts', 'RateLimit'],
  newSessions: ['server/access/limits.ts', 'RateLimit'],
  retryPolicy: ['models/retry-policy.ts', 'RetryPolicy'],
  history: ['server/options.ts', 'HistoryOptions'],
  limits: ['protocol/limits.ts', 'Limits'],
  budget: ['server/access/limits.ts', 'BudgetLimits'],
  socketLimits: ['server/socket/socket.ts', 'SocketLimits'],
  chatSocket: ['server/http/route.ts', 'ChatSocketOptions'],
  approvalTimeoutMs: ['server/engine.ts', 'ApprovalTimeouts'],
  toolSignIn: ['server/credentials/sign-ins.ts', 'ToolSignInOptions'],
  toolRequest: ['server/tool-request.ts', 'ToolRequestOptions'],
};

const CLIENT: [file: string, name: string][] = [
  ['client/transport.ts', 'TransportOptions'],
  ['client/transport.ts', 'DuologueTransportOptions'],
  ['client/executors.ts', 'ExecutorOptions'],
  ['client/receiver.ts', 'ReceiverOptions'],
  ['client/link/connection.ts', 'ConnectionOptions'],
  ['client/link/web-socket-link.ts', 'WebSocketLinkOptions'],
  ['client/http.ts', 'HttpOptions'],
];

/** The comments of the fields of an interface, by their names. */
function commentsOf(file: string, name: string): Map<string, string> {
  const text = readFileSync(new URL(file, source), 'utf8');
  const [, body] = new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(text) ?? [];
  if (body === undefined) throw new Error(`${file} has no interface ${name}.`);
  const found = body.matchAll(/^ {2}\/\*\*([\s\S]*?)\*\/\n {2}(\w+)\??:/gm);
  return new Map(
    [...found].map(([, comment = '', field = '']) => [
      field,
      comment
        .split('\n')
        .map((line) => line.replace(/^\s*\* ?/, '').trim())
        .join(' ')
        .trim(),
    ]),
  );
}

/** The expected type of an option, taken from the check's error text for a value that no check accepts. */
function wantedBy(check: Check): string {
  return check(Symbol()) ?? 'anything';
}

function isNested(check: Check): check is NestedCheck {
  return 'fields' in check;
}

const row = (...cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

interface Described {
  name: string;
  check: Check;
  comment: string | undefined;
}

/** The options with their comments, those with fields followed by their fields. */
function described(checks: Checks, comments: Map<string, string>, prefix = ''): Described[] {
  return Object.entries(checks).flatMap(([name, check]) => {
    const place = SERVER[name];
    const own = { name: `${prefix}${name}`, check, comment: comments.get(name) };
    if (!isNested(check)) return [own];
    const inner = prefix === '' && place ? commentsOf(...place) : new Map<string, string>();
    return [own, ...described(check.fields, inner, `${prefix}${name}.`)];
  });
}

const serverOptions = () => described(OPTION_CHECKS, commentsOf('server/options.ts', 'DuologueOptions'));
const clientOptions = () =>
  described(TRANSPORT_CHECKS, new Map(CLIENT.flatMap((place) => [...commentsOf(...place)])));

const rowsOf = (options: Described[]): string[] =>
  options.map(({ name, check, comment }) => row(`\`${name}\``, wantedBy(check), comment ?? ''));

const HEAD = [row('option', 'must be', 'meaning'), '|---|---|---|'];

/** The options that have no comment. */
export function undescribed(): string[] {
  return [...serverOptions(), ...clientOptions()].flatMap(({ name, comment }) => (comment ? [] : [name]));
}

/** The page docs/options.md. */
export function optionsPage(): string {
  return [
    '# Options',
    '',
    'All options of `createDuologue` and of the transports. Both check their options when they are made: an unknown name is refused with the nearest known one, and a wrong',
    'value with what it must be. `npm run options` writes this page from those checks and from the comments of the types.',
    '',
    '## `createDuologue`',
    '',
    ...HEAD,
    ...rowsOf(serverOptions()),
    '',
    '## `DuologueTransport` and `DuologueSseTransport`',
    '',
    'Both take all of these, so that a page can change between them; `WebSocket`, `watches`, `onFrame` and `link` have no effect over SSE, and `headers`, `credentials` and',
    '`sharesStream` none over a WebSocket. `useDuologue` passes its options of the same names on.',
    '',
    ...HEAD,
    ...rowsOf(clientOptions()),
    '',
  ].join('\n');
}
