import type { Message } from 'duologue/protocol';
import { ArrowDown, ShieldQuestion } from 'lucide-react';
import { type ComponentProps, type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import type { Decide } from '../approval/decide.ts';
import { goToCard } from '../approval/go-to-card.ts';
import { useUnseenCards } from '../approval/use-unseen-cards.ts';
import { handFocusOn } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import { briefThought } from './brief-thought.ts';
import { Dots } from './dots.tsx';
import { Earlier } from './earlier.tsx';
import { endingOf } from './ending.ts';
import { Answer, loadAnswer } from './lazy-answer.tsx';
import { useAnswerAnnounced } from './use-answer-announced.ts';
import { useStickyScroll } from './use-sticky-scroll.ts';
import { UserMessage } from './user-message.tsx';

/** The scrolling list of messages, with everything that is shown before and after them. */
export function Conversation({
  messages,
  onEarlier,
  isBusy,
  hasError,
  onDecide,
  onContinue,
  onRegenerate,
  onEdit,
  isUnsent,
  onAskAgain,
  empty,
  children,
}: {
  messages: readonly Message[];
  /** Loads a page of earlier messages; null when there are none. */
  onEarlier: (() => Promise<void>) | null;
  isBusy: boolean;
  /**
   * Whether an error is shown below the last message. The error has a button to try again, so the message shows none.
   */
  hasError: boolean;
  onDecide: Decide;
  /** Continues the last message of the assistant; null unless it was cut off. */
  onContinue: (() => void) | null;
  onRegenerate: (messageId: string) => void;
  onEdit: (message: Message, text: string) => void;
  /** Whether sending a message of the user failed on this page. */
  isUnsent: (messageId: string) => boolean;
  /**
   * Sends a user message without a whole answer again: in its place if it is the last message, otherwise as a new
   * message.
   */
  onAskAgain: (question: Message, isLast: boolean) => void;
  empty: ReactNode;
  children: ReactNode;
}) {
  const words = useMessages();
  const { box, content, isAtEnd, toEnd, keepPlace } = useStickyScroll(messages.length > 0);
  const { around, unseen, isMore } = useUnseenCards();
  const [firstUnseen] = unseen;
  const hasQuestion = unseen.some(({ dataset }) => dataset.testid === 'question-card');
  const waiting = hasQuestion ? words.question : words.approval;
  const last = messages.at(-1);
  const asked = messages.findLast(({ role }) => role === 'user')?.id;
  useEffect(() => {
    if (asked !== undefined) toEnd();
  }, [asked, toEnd]);
  const first = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const before = first.current;
    first.current = messages[0]?.id;
    if (before !== first.current && messages.some(({ id }) => id === before)) keepPlace();
  }, [messages, keepPlace]);
  const hasBegun = messages.length > 0;
  useEffect(() => {
    // Loads the component while the agent thinks. A failure is shown where the component would be.
    if (hasBegun) loadAnswer().catch(() => undefined);
  }, [hasBegun]);
  useAnswerAnnounced(isBusy, last);
  const isSilent = isBusy && !(last?.role === 'assistant' && last.parts.some(isVisible));
  return (
    <div ref={around} className="relative min-h-0 grow">
      <section
        ref={box}
        data-conversation
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer
        tabIndex={0}
        aria-label={words.message.conversation}
        className="h-full overflow-y-auto overscroll-contain outline-none print:h-auto print:overflow-visible"
      >
        <div
          ref={content}
          className="mx-auto flex min-h-full w-full max-w-3xl flex-col gap-8 px-4 pt-6 pb-8 sm:px-6"
        >
          {messages.length === 0 ? empty : null}
          {onEarlier ? <Earlier onLoad={onEarlier} isAtEnd={isAtEnd} /> : null}
          {messages.map((message, index) => {
            const isLast = message === last;
            const canAct = !isBusy && !hasError;
            if (message.role === 'user') {
              const isUnanswered = isLast ? canAct : isUnsent(message.id);
              return (
                <UserMessage
                  key={message.id}
                  message={message}
                  onEdit={isBusy ? null : onEdit}
                  onRetry={isUnanswered ? () => onAskAgain(message, isLast) : null}
                />
              );
            }
            const question = isLast || endingOf(message) !== 'nothing' ? undefined : messages[index - 1];
            return (
              <Answer
                key={message.id}
                message={message}
                isGrowing={isBusy && isLast}
                onDecide={onDecide}
                onContinue={isLast ? onContinue : null}
                onRegenerate={canAct && isLast ? onRegenerate : null}
                onAskAgain={question?.role === 'user' ? () => onAskAgain(question, false) : null}
              />
            );
          })}
          {isSilent ? <Dots /> : null}
          {children}
        </div>
      </section>
      {firstUnseen ? (
        <Pill onClick={() => goToCard(firstUnseen)} title={waiting.goTo} place="end">
          <ShieldQuestion className="size-4 text-warn" aria-hidden="true" />
          {waiting.waiting(unseen.length, isMore)}
        </Pill>
      ) : isAtEnd ? null : (
        <Pill onClick={toEnd} place="center">
          <ArrowDown className="size-4" aria-hidden="true" />
          {words.message.toLatest}
        </Pill>
      )}
    </div>
  );
}

/** A button above the end of the list, which scrolls to something out of view. At the end of the line it leaves the buttons of a card below it free. */
function Pill({ place, ...rest }: ComponentProps<'button'> & { place: 'center' | 'end' }) {
  return (
    <div
      className={`pointer-events-none absolute inset-x-0 bottom-3 mx-auto flex max-w-3xl px-4 sm:px-6 print:hidden ${place === 'end' ? 'justify-end' : 'justify-center'}`}
    >
      <button
        ref={handFocusOn}
        type="button"
        {...rest}
        className="pointer-events-auto inline-flex h-10 animate-fade items-center gap-2 rounded-full border border-line bg-surface px-4 text-sm whitespace-nowrap shadow-float hover:bg-sunken"
      />
    </div>
  );
}

function isVisible(part: Message['parts'][number]): boolean {
  if (part.type === 'text') return part.text !== '';
  return part.type !== 'step-start' && briefThought(part) === null;
}
