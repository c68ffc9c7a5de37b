import { Sentence } from '../approval/sentence.tsx';
import { useLanguage } from '../i18n/language.tsx';
import { type PanelTexts, usePanelTexts } from '../i18n/panels.ts';
import { pageTool, toolTitle } from '../tools/page-tools.tsx';
import { fields } from '../tools/tool-part.ts';
import type { AuditLine } from './audit-line.ts';

const DOTS: Readonly<Record<AuditLine['kind'], string>> = {
  issued: 'bg-warn',
  approved: 'bg-accent',
  answered: 'bg-accent',
  denied: 'bg-bad',
  expired: 'bg-soft',
  consumed: 'bg-good',
  refused: 'bg-odd',
};

/** The name that a server without `authenticate` gives its only user. */
const ONLY_USER = 'live_user';

/** Shows the lines of the log about one approval request: its arguments, and each step with its user and time. */
export function ApprovalRecord({ lines }: { lines: readonly AuditLine[] }) {
  const { messages, language } = useLanguage();
  const words = usePanelTexts().audit;
  const first = lines[0];
  if (!first) return null;
  const args = lines.find((line) => line.args !== null)?.args ?? null;
  const tool = first.toolName;
  const isUsed = lines.some(({ kind }) => kind === 'consumed');
  const sentence =
    (tool !== null && args !== null && pageTool(tool)?.sentence?.(fields(args), isUsed, language)) || null;
  return (
    <li className="space-y-3 rounded-2xl border border-line p-4">
      <h3 className="text-sm font-semibold">
        {tool === null ? words.unknown : toolTitle(tool, messages, language)}{' '}
        {tool === null ? null : <code className="ml-2 text-xs font-normal text-soft">{tool}</code>}
      </h3>
      {sentence ? (
        <p className="text-sm">
          <Sentence question={sentence} />
        </p>
      ) : null}
      <Arguments args={args} inSentence={sentence?.inSentence ?? []} />
      <ol aria-label={words.steps} className="space-y-2">
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a log only grows
          <li key={index} className="flex gap-3 text-sm" data-kind={line.kind}>
            <span className={`mt-1.5 size-2 shrink-0 rounded-full ${DOTS[line.kind]}`} aria-hidden="true" />
            <div className="min-w-0">
              <p>
                <span className="font-medium">{words.kind[line.kind]}</span>{' '}
                <span className="text-soft">{userOf(line, words)}</span>
              </p>
              {line.reason === null ? null : (
                <p className="break-words">
                  <q>{line.reason}</q>
                </p>
              )}
              <time dateTime={new Date(line.at).toISOString()} className="text-xs text-soft">
                {new Date(line.at).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'medium' })}
              </time>
            </div>
          </li>
        ))}
      </ol>
      <Identifiers line={first} />
    </li>
  );
}

/** The words for the user of a line: who was asked, or who decided, with the application that decided for a person. Empty for steps of the server itself. */
function userOf({ kind, user, by }: AuditLine, words: PanelTexts['audit']): string {
  if (kind === 'expired' || kind === 'consumed') return '';
  const person = by?.person ?? user;
  const name = person === ONLY_USER ? words.you : person;
  return kind === 'issued' ? words.from(name) : words.by(by ? `${name} (${by.application})` : name);
}

/** Shows the arguments that the sentence above does not contain. */
function Arguments({ args, inSentence }: { args: unknown; inSentence: readonly string[] }) {
  const words = usePanelTexts().audit;
  const entries = Object.entries(fields(args)).filter(([name]) => !inSentence.includes(name));
  if (entries.length === 0)
    return inSentence.length > 0 ? null : <p className="text-xs text-soft">{words.noArgs}</p>;
  return (
    <dl
      aria-label={words.args}
      className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1 rounded-lg bg-sunken px-3 py-2 text-xs"
    >
      {entries.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="font-mono break-words">
            {typeof value === 'string' ? value : JSON.stringify(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Identifiers({ line }: { line: AuditLine }) {
  const { ids, fields } = usePanelTexts().audit;
  const entries = [
    [fields.approval, line.approvalId],
    [fields.call, line.toolCallId],
    [fields.hash, line.argsHash],
  ] as const;
  return (
    <details className="text-xs">
      <summary className="w-fit text-soft hover:text-ink">{ids}</summary>
      <dl className="mt-2 space-y-1">
        {entries.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt className="text-soft">{name}</dt>
              <dd className="font-mono break-all">{value}</dd>
            </div>
          ),
        )}
      </dl>
    </details>
  );
}
