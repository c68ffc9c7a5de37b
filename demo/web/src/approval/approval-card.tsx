import { CONFIRMATION_TOOL } from 'duologue/protocol';
import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react';
import type { Messages } from '../i18n/en.ts';
import { useLanguage } from '../i18n/language.tsx';
import { Fields } from '../questions/fields.tsx';
import { formFor } from '../questions/form.ts';
import type { JsonValue } from '../questions/json.ts';
import { useForm } from '../questions/use-form.ts';
import { fields, type ToolPart, toolName } from '../tools/tool-part.ts';
import { ToolProgress } from '../tools/tool-progress.tsx';
import { useAnnounce } from '../ui/announcer.tsx';
import { useNow } from '../ui/use-now.ts';
import { AnswerForm } from './answer-form.tsx';
import { AskedBy } from './asked-by.tsx';
import { type CardState, cardStateOf, isSettled } from './card-state.ts';
import { obstacleOf, wordsOf } from './card-words.ts';
import { Countdown } from './countdown.tsx';
import type { Decide } from './decide.ts';
import { Details } from './details.tsx';
import { useDecidedElsewhere } from './elsewhere.tsx';
import { LOOKS } from './look.ts';
import { questionOf, sentenceOf } from './question.ts';
import { type Reach, useReach } from './reach.tsx';
import { reveal } from './reveal.ts';
import { Sentence } from './sentence.tsx';
import { SettledCard } from './settled-card.tsx';
import { KEYS } from './shortcuts.ts';
import { cardOfKeys, useCardKeys } from './use-card-keys.ts';
import { useFocus } from './use-focus.ts';

/** Asks the user whether a call may run, and afterwards shows its state. */
export function ApprovalCard({
  part,
  place = null,
  onDecide,
  children,
}: {
  part: ToolPart;
  /** The number of this card, and how many cards the message has; null when it is the only one. */
  place?: readonly [index: number, count: number] | null;
  onDecide: Decide;
  /** The output of the call, if the tool has a component for it. */
  children?: ReactNode;
}) {
  const { messages, language } = useLanguage();
  const { approval } = messages;
  const [reason, setReason] = useState('');
  const reach = useReach();
  const state = useCardState(part, reach);
  const isAsking = state === 'requested';
  const question = questionOf(part, messages, language);
  const card = useRef<HTMLElement>(null);
  const title = useId();
  const asked = useFocus(card, isAsking);
  const [isElsewhere, note] = useDecidedElsewhere(question.toolCallId);
  const { message, payload } = askedWith(part);
  const signInUrl = addressOf(part);
  const editor = useForm(() => formFor(payload ?? null));
  const form = payload == null ? null : editor;
  const settle = (isApproved: boolean, answer?: JsonValue) => {
    note(isApproved);
    onDecide(part.toolCallId, isApproved, reason.trim(), ...(answer === undefined ? [] : [answer]));
  };
  const decide = (isApproved: boolean) => {
    if (isApproved && signInUrl !== null)
      return void window.open(signInUrl.href, '_blank', 'noopener,noreferrer');
    if (!isApproved || form === null) return settle(isApproved);
    const taken = form.take();
    if (taken) settle(true, taken.answer);
  };
  const obstacle = obstacleOf(reach, approval);
  useCardKeys(card, isAsking && obstacle === null, decide);
  const { icon: Icon, frame, mark } = LOOKS[state];
  const words = signInUrl === null ? approval : signInWords(messages, state);
  const { name, text } = wordsOf(state, reach, words);
  // A sign-in ends in the window of the provider, which is no other page of this conversation.
  const where = isElsewhere && signInUrl === null ? approval.elsewhere : null;
  useAnnouncements(card, state, where === null ? name : `${name} · ${where}`, sentenceOf(question), words);
  const expiresAt = part.approval?.descriptor?.expiresAt;
  return (
    <section
      ref={card}
      tabIndex={-1}
      aria-labelledby={title}
      data-testid="approval-card"
      data-state={state}
      data-tool={question.tool}
      {...(isAsking ? { 'data-asking': '' } : {})}
      className={`animate-rise scroll-m-4 scroll-mb-16 rounded-2xl border transition-colors ${frame}`}
    >
      {isSettled(state) ? (
        <SettledCard
          part={part}
          state={state}
          question={question}
          words={words}
          where={where}
          titleId={title}
        >
          {children}
        </SettledCard>
      ) : (
        <div className="space-y-3 p-4 sm:p-5">
          <div className={`flex items-center gap-2 text-sm font-medium ${mark}`}>
            <Icon className="size-4.5 shrink-0" aria-hidden="true" />
            <span data-testid="approval-state">{name}</span>
            {isAsking && place ? (
              <span className="font-normal text-soft">{approval.place(...place)}</span>
            ) : null}
            {where === null ? null : <span className="font-normal text-soft">{where}</span>}
            {isAsking && expiresAt !== undefined ? (
              <span className="ml-auto">
                <Countdown expiresAt={expiresAt} />
              </span>
            ) : null}
          </div>
          <p id={title} className={`leading-snug ${isAsking ? 'text-xl text-ink' : 'text-base text-soft'}`}>
            <Sentence question={question} />
          </p>
          <AskedBy part={part} />
          {signInUrl ? (
            <p>{messages.signIn.text(signInUrl.host)}</p>
          ) : message === undefined ? null : (
            <p className="break-words whitespace-pre-wrap">
              <bdi>{reveal(message)}</bdi>
            </p>
          )}
          {text ? <p className="text-sm text-soft">{text}</p> : null}
          {!isAsking && part.approval?.reason ? (
            <p className="text-sm text-soft">
              {words.yourReason}: <q>{part.approval.reason}</q>
            </p>
          ) : null}
          <ToolProgress part={part} />
          {state === 'processing' ? <Details question={question} /> : null}
          {isAsking ? (
            <div ref={asked} className="space-y-3">
              <Details question={question} />
              {form === null ? null : (
                <fieldset className="rounded-xl bg-surface/70 px-4 py-3">
                  <legend className="sr-only">{messages.question.payload}</legend>
                  <Fields state={form} label={messages.question.payload} />
                </fieldset>
              )}
              <AnswerForm
                signInUrl={signInUrl}
                obstacle={obstacle}
                mayGiveReason={toolName(part) !== CONFIRMATION_TOOL}
                reason={reason}
                onReason={setReason}
                onDecide={decide}
              />
            </div>
          ) : null}
        </div>
      )}
    </section>
  );
}

/** The address at which the user signs in. Null when the tool needs no sign-in, or when the address is not http(s). */
function addressOf(part: ToolPart): URL | null {
  const { signInUrl = '' } = part.approval?.descriptor ?? {};
  return /^https?:/.test(signInUrl) && URL.canParse(signInUrl) ? new URL(signInUrl) : null;
}

/**
 * The words of a card that asks for a sign-in. The page learns from the server that the user has signed in, so while the call runs the page has no
 * decision to send.
 */
function signInWords({ approval, signIn }: Messages, state: CardState): Messages['approval'] {
  const { states, unsettled } = signIn;
  const after = state === 'processing' ? { unsentText: unsettled, unsureText: unsettled } : {};
  return { ...approval, ...states, ...after };
}

/** The message of the tool for the user, and the payload that the user may change. */
function askedWith(part: ToolPart): { message?: string; payload?: JsonValue | undefined } {
  if (toolName(part) !== CONFIRMATION_TOOL) return part.approval?.descriptor ?? {};
  const { hint, payload } = fields(fields(part.input).toolConfirmation);
  return { ...(typeof hint === 'string' ? { message: hint } : {}), payload: (payload ?? null) as JsonValue };
}

/**
 * The state of the card. While the server cannot report the timeout, the clock of the page decides that the time is
 * up.
 */
function useCardState(part: ToolPart, reach: Reach): CardState {
  const state = cardStateOf(part);
  const expiresAt =
    reach === 'live' || state !== 'requested' ? undefined : part.approval?.descriptor?.expiresAt;
  const now = useNow(expiresAt !== undefined);
  return expiresAt !== undefined && now >= expiresAt ? 'expired' : state;
}

/** Announces the card to screen readers when it asks, and later each change of its state. */
function useAnnouncements(
  card: RefObject<HTMLElement | null>,
  state: CardState,
  name: string,
  sentence: string,
  words: Messages['approval'],
): void {
  const announce = useAnnounce();
  const before = useRef<CardState | null>(null);
  useEffect(() => {
    const was = before.current;
    before.current = state;
    if (was === state) return;
    if (state === 'requested') {
      // The keyboard shortcuts decide only one card, so only its announcement names them.
      const hasKeys = card.current === cardOfKeys();
      announce(hasKeys ? words.announce(sentence, KEYS.approve, KEYS.deny) : words.announceAlso(sentence));
    }
    // A card that was already settled when the conversation was loaded is not announced.
    else if (was !== null) announce(words.announceState(name, sentence));
  }, [announce, card, words, name, sentence, state]);
}
