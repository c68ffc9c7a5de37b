import { Ban, Check, ChevronRight, Clock, type LucideIcon, OctagonX, Undo2 } from 'lucide-react';
import { Collapsible } from 'radix-ui';
import { reveal } from '../approval/reveal.ts';
import { useLanguage } from '../i18n/language.tsx';
import { failureText } from '../tools/failure-text.ts';
import { ToolDetails } from '../tools/tool-details.tsx';
import type { ToolPart } from '../tools/tool-part.ts';
import type { QuestionState } from './question-state.ts';

const LOOKS: Readonly<Record<Exclude<QuestionState, 'asking'>, { icon: LucideIcon; mark: string }>> = {
  answered: { icon: Check, mark: 'text-good' },
  declined: { icon: Ban, mark: 'text-soft' },
  expired: { icon: Clock, mark: 'text-soft' },
  cancelled: { icon: Undo2, mark: 'text-soft' },
  failed: { icon: OctagonX, mark: 'text-bad' },
};

/** A question that has ended: one line with its outcome and the answer, which the user can open for details. */
export function SettledQuestion({
  part,
  state,
  sentence,
  titleId,
}: {
  part: ToolPart;
  state: Exclude<QuestionState, 'asking'>;
  sentence: string;
  titleId: string;
}) {
  const { messages, language } = useLanguage();
  const { icon: Icon, mark } = LOOKS[state];
  return (
    <Collapsible.Root defaultOpen={state === 'failed'}>
      <Collapsible.Trigger className="group flex w-full items-baseline gap-2.5 px-4 py-2.5 text-left text-sm">
        <Icon className={`size-4 shrink-0 self-center ${mark}`} aria-hidden="true" />
        <span data-testid="question-state" className={`shrink-0 font-medium ${mark}`}>
          {messages.question.states[state]}
        </span>
        <span id={titleId} className="min-w-0 grow text-soft">
          {sentence}
          {state === 'answered' ? (
            <strong className="block font-semibold break-words text-ink">
              <bdi>{answerText(part.output)}</bdi>
            </strong>
          ) : null}
        </span>
        <ChevronRight
          className="size-4 shrink-0 self-center text-soft transition-transform group-data-[state=open]:rotate-90"
          aria-hidden="true"
        />
      </Collapsible.Trigger>
      <Collapsible.Content className="border-t border-line">
        {state === 'failed' ? (
          <p className="px-4 pt-3 text-sm">{failureText(part, language, messages)}</p>
        ) : state === 'answered' ? null : (
          <p className="px-4 pt-3 text-sm text-soft">{messages.question.ends[state]}</p>
        )}
        <ToolDetails part={part} />
      </Collapsible.Content>
    </Collapsible.Root>
  );
}

const LONG = 200;

/** The answer as one line of text. */
function answerText(output: unknown): string {
  const values = typeof output === 'object' && output !== null ? Object.entries(output) : null;
  const text =
    values && !Array.isArray(output)
      ? values.map(([name, value]) => `${name}: ${plain(value)}`).join(', ')
      : plain(output);
  return reveal(text.length > LONG ? `${text.slice(0, LONG)}…` : text);
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
