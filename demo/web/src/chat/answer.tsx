import type { Message } from 'duologue/protocol';
import { memo } from 'react';
import type { Decide } from '../approval/decide.ts';
import { useMessages } from '../i18n/language.tsx';
import { asToolPart } from '../tools/tool-part.ts';
import { endingOf } from './ending.ts';
import { EndingLine } from './ending-line.tsx';
import { Footer } from './footer.tsx';
import { Part } from './part.tsx';
import { Sources } from './sources.tsx';

/** A message of the assistant. */
const Answer = memo(function Answer({
  message,
  isGrowing,
  onDecide,
  onContinue,
  onRegenerate,
  onAskAgain,
}: {
  message: Message;
  isGrowing: boolean;
  onDecide: Decide;
  /** Continues the message; null unless the message was cut off and is the last one. */
  onContinue: (() => void) | null;
  onRegenerate: ((messageId: string) => void) | null;
  /**
   * Sends the user message before this one again as a new message; null where `onRegenerate` can replace the answer.
   */
  onAskAgain: (() => void) | null;
}) {
  const { message: words } = useMessages();
  const ending = isGrowing ? null : endingOf(message);
  const again = onRegenerate ? () => onRegenerate(message.id) : onAskAgain;
  const asking = message.parts.filter(asksPerson);
  const count = asking.length + queuedBehind(asking.at(-1));
  const placeOf = (part: Message['parts'][number]) =>
    count > 1 && asking.includes(part) ? `${asking.indexOf(part) + 1}/${count}` : null;
  return (
    <article
      aria-label={words.assistant}
      aria-busy={isGrowing}
      data-testid="message-assistant"
      data-message-id={message.id}
      className="group/answer space-y-4"
    >
      {message.parts.map((part, index) => (
        <Part
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end
          key={index}
          part={part}
          place={placeOf(part)}
          isGrowing={isGrowing && 'state' in part && part.state === 'streaming'}
          onDecide={onDecide}
        />
      ))}
      <Sources message={message} />
      {ending ? (
        <EndingLine
          ending={ending}
          onContinue={ending === 'nothing' ? null : onContinue}
          onAgain={ending === 'nothing' ? again : null}
        />
      ) : null}
      {isGrowing || message.parts.some(isOpen) ? null : (
        <Footer message={message} onRegenerate={onRegenerate ? () => onRegenerate(message.id) : null} />
      )}
    </article>
  );
});

export default Answer;

/** Whether a part is a call that needs the approval of the user, decided or not. */
function asksPerson(part: Message['parts'][number]): boolean {
  const call = asToolPart(part);
  return call !== null && (call.approval !== undefined || call.toolMetadata?.asks === true);
}

/** How many further approval requests are queued: over BIDI the server shows them one by one. */
function queuedBehind(part: Message['parts'][number] | undefined): number {
  return (part && asToolPart(part)?.approval?.descriptor?.queued) ?? 0;
}

/** Whether a part is a call without an outcome. */
function isOpen(part: Message['parts'][number]): boolean {
  return 'toolCallId' in part && !part.state.startsWith('output-');
}
