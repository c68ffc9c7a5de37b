import { CircleHelp, LoaderCircle, Send, X } from 'lucide-react';
import { type RefObject, useEffect, useId, useRef, useState } from 'react';
import { AskedBy } from '../approval/asked-by.tsx';
import { Countdown } from '../approval/countdown.tsx';
import { Details } from '../approval/details.tsx';
import { useReach } from '../approval/reach.tsx';
import { reveal } from '../approval/reveal.ts';
import { KEYS } from '../approval/shortcuts.ts';
import { useArmed } from '../approval/use-armed.ts';
import { cardOfKeys, useCardKeys } from '../approval/use-card-keys.ts';
import { useFocus } from '../approval/use-focus.ts';
import { plainError } from '../errors/plain-words.ts';
import type { Messages } from '../i18n/en.ts';
import { useMessages } from '../i18n/language.tsx';
import { fields, type ToolPart, toolName } from '../tools/tool-part.ts';
import { useAnnounce } from '../ui/announcer.tsx';
import { Button } from '../ui/button.tsx';
import { useNow } from '../ui/use-now.ts';
import { useAnswering } from './answering.tsx';
import { Fields } from './fields.tsx';
import { choicesOf, formOf } from './form.ts';
import type { JsonValue } from './json.ts';
import { type QuestionState, questionStateOf } from './question-state.ts';
import { SettledQuestion } from './settled-question.tsx';
import { useForm } from './use-form.ts';

/** Shows a question of the agent with the ways to answer it, and afterwards how it ended. */
export function QuestionCard({ part }: { part: ToolPart }) {
  const { question: words } = useMessages();
  const { message, expiresAt } = part.toolMetadata?.question ?? {};
  const state = useQuestionState(part, expiresAt);
  const isAsking = state === 'asking';
  const sentence = message ? reveal(message) : words.untitled;
  const card = useRef<HTMLElement>(null);
  const title = useId();
  const asked = useFocus(card, isAsking);
  useAnnouncements(card, state, sentence);
  return (
    <section
      ref={card}
      tabIndex={-1}
      aria-labelledby={title}
      data-testid="question-card"
      data-state={state}
      data-tool={toolName(part)}
      {...(isAsking ? { 'data-asking': '' } : {})}
      className={`animate-rise scroll-m-4 scroll-mb-16 rounded-2xl border transition-colors ${
        isAsking ? 'border-info-line bg-info-tint shadow-lift' : 'border-line bg-surface'
      }`}
    >
      {state === 'asking' ? (
        <div ref={asked} className="space-y-3 p-4 sm:p-5">
          <div className="flex items-center gap-2 text-sm font-medium text-info">
            <CircleHelp className="size-4.5 shrink-0" aria-hidden="true" />
            <span data-testid="question-state">{words.states.asking}</span>
            {expiresAt === undefined ? null : (
              <span className="ml-auto">
                <Countdown expiresAt={expiresAt} />
              </span>
            )}
          </div>
          <p id={title} className="text-xl leading-snug break-words whitespace-pre-wrap text-ink">
            {sentence}
          </p>
          <AskedBy part={part} />
          <About part={part} />
          <Answers part={part} card={card} label={sentence} />
        </div>
      ) : (
        <SettledQuestion part={part} state={state} sentence={sentence} titleId={title} />
      )}
    </section>
  );
}

/** Shows the payload of the question. */
function About({ part }: { part: ToolPart }) {
  const payload = part.toolMetadata?.question?.payload;
  if (payload === undefined || payload === null) return null;
  const isObject = typeof payload === 'object' && !Array.isArray(payload);
  const input = isObject ? fields(payload) : { '': payload };
  return (
    <Details
      question={{ toolCallId: part.toolCallId, tool: '', input, template: '', values: {}, inSentence: [] }}
    />
  );
}

/** The ways to answer: a button for each choice, or a form; and a button to decline. */
function Answers({
  part,
  card,
  label,
}: {
  part: ToolPart;
  card: RefObject<HTMLElement | null>;
  label: string;
}) {
  const messages = useMessages();
  const { question: words, approval } = messages;
  const { answer, decline } = useAnswering();
  const reach = useReach();
  const state = useForm(() => formOf(part.toolMetadata?.question?.schema));
  const choices = choicesOf(state.form, words.yes, words.no);
  const [sending, setSending] = useState<'answer' | 'decline' | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const isArmed = useArmed();
  const obstacle =
    reach === 'elsewhere' ? approval.answerHere : reach === 'closed' ? approval.answerLater : null;
  const isDisabled = !isArmed || obstacle !== null || sending !== null;
  const look = obstacle === null && sending === null ? 'disabled:opacity-100' : '';
  const send = (what: 'answer' | 'decline', work: () => Promise<void>) => {
    setSending(what);
    setRefusal(null);
    work().catch((error: Error & { code?: string }) => {
      setSending(null);
      setRefusal(refusalText(error, messages));
    });
  };
  const give = (value: JsonValue) => send('answer', () => answer(part.toolCallId, value));
  const refuse = () => send('decline', () => decline(part.toolCallId));
  const submit = () => {
    if (isDisabled || choices !== null) return;
    const taken = state.take();
    if (taken) give(taken.answer);
  };
  useCardKeys(card, !isDisabled, (isApproved) => {
    if (!isApproved) refuse();
  });
  return (
    <form
      noValidate
      className="space-y-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {choices === null ? <Fields state={state} label={label} /> : null}
      {refusal === null ? null : (
        <p role="alert" data-testid="question-refusal" className="text-sm font-medium break-words text-bad">
          {refusal}
        </p>
      )}
      {obstacle === null ? null : <p className="text-sm font-medium">{obstacle}</p>}
      {sending === null ? null : (
        <p role="status" className="inline-flex items-center gap-1.5 text-sm text-soft">
          <LoaderCircle className="size-3.5 animate-spin" aria-hidden="true" />
          {reach === 'away' ? words.unsent : words.sending}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        {choices === null ? (
          <Button type="submit" look="accent" disabled={isDisabled} className={look}>
            <Send className="size-4" aria-hidden="true" />
            {words.send}
          </Button>
        ) : (
          choices.map(({ value, words: name }, index) => (
            <Button
              // biome-ignore lint/suspicious/noArrayIndexKey: a choice is known by its place alone
              key={index}
              look="accent"
              disabled={isDisabled}
              onClick={() => give(value)}
              className={`max-w-full whitespace-normal! break-words ${look}`}
            >
              <bdi>{reveal(name)}</bdi>
            </Button>
          ))
        )}
        <Button disabled={isDisabled} onClick={refuse} className={look}>
          <X className="size-4" aria-hidden="true" />
          {words.decline}
        </Button>
        <span className="card-keys ml-auto text-xs text-soft">{words.keys(KEYS.deny)}</span>
      </div>
    </form>
  );
}

/** The text for the user when the server refused an answer. */
function refusalText(error: Error & { code?: string }, { question, errors }: Messages): string {
  if (error.code === 'answer_refused')
    return `${question.refused} ${reveal(error.message.replace(/^.*does not fit the question: /, ''))}`;
  const { title, text } = plainError(error, errors);
  return `${title}: ${text}`;
}

/**
 * The state of the card. While the server cannot report the timeout, the clock of the page decides that the time is
 * up.
 */
function useQuestionState(part: ToolPart, expiresAt: number | undefined): QuestionState {
  const reach = useReach();
  const state = questionStateOf(part);
  const limit = reach === 'live' || state !== 'asking' ? undefined : expiresAt;
  const now = useNow(limit !== undefined);
  return limit !== undefined && now >= limit ? 'expired' : state;
}

/** Announces the question to screen readers, and later how it ended. */
function useAnnouncements(card: RefObject<HTMLElement | null>, state: QuestionState, sentence: string): void {
  const { question: words } = useMessages();
  const announce = useAnnounce();
  const before = useRef<QuestionState | null>(null);
  useEffect(() => {
    const was = before.current;
    before.current = state;
    if (was === state) return;
    if (state === 'asking')
      announce(words.announce(sentence, card.current === cardOfKeys() ? KEYS.deny : null));
    // A question that had already ended when the conversation was loaded is not announced.
    else if (was !== null) announce(words.announceState(words.states[state], sentence));
  }, [announce, card, sentence, state, words]);
}
