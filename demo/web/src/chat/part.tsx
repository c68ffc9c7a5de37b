import type { MessagePart } from 'duologue/protocol';
import { memo, type ReactNode } from 'react';
import { ApprovalCard } from '../approval/approval-card.tsx';
import { isApprovalCard } from '../approval/card-state.ts';
import type { Decide } from '../approval/decide.ts';
import { useMessages } from '../i18n/language.tsx';
import { CodeBlock } from '../markdown/code-block.tsx';
import { RichText } from '../markdown/rich-text.tsx';
import { QuestionCard } from '../questions/question-card.tsx';
import { isQuestionCard } from '../questions/question-state.ts';
import { ToolCard } from '../tools/tool-card.tsx';
import { asToolPart, hasOutput } from '../tools/tool-part.ts';
import { ToolResult } from '../tools/tool-result.tsx';
import { InspectButton } from '../wire/inspection.tsx';
import { Author } from './author.tsx';
import { briefThought } from './brief-thought.ts';
import { FilePart } from './file-part.tsx';
import { Picture } from './picture.tsx';
import { Thoughts } from './thoughts.tsx';

interface Props {
  part: MessagePart;
  /**
   * The number of this card and of all cards of the message, such as "1/2"; null for other parts, and for an only
   * card.
   */
  place: string | null;
  isGrowing: boolean;
  onDecide: Decide;
}

/** Shows one part of a message. The chat copies all parts for each chunk, so the memo compares their content. */
export const Part = memo(
  function Part({ part, place, isGrowing, onDecide }: Props): ReactNode {
    const { message, pictures } = useMessages();
    const call = asToolPart(part);
    if (call) {
      return (
        <div data-call={call.toolCallId}>
          {isApprovalCard(call) ? (
            <ApprovalCard
              part={call}
              place={place === null ? null : (place.split('/').map(Number) as [number, number])}
              onDecide={onDecide}
            >
              {hasOutput(call) ? <ToolResult part={call} isBrief /> : null}
            </ApprovalCard>
          ) : isQuestionCard(call) ? (
            <QuestionCard part={call} />
          ) : (
            <ToolCard part={call} />
          )}
          <InspectButton target={call} className="mt-1 ml-2" />
        </div>
      );
    }
    switch (part.type) {
      case 'text':
        return part.text === '' ? null : (
          <Author part={part}>
            <RichText text={part.text} isGrowing={isGrowing} />
          </Author>
        );
      case 'reasoning':
        return briefThought(part) === null ? (
          <Author part={part}>
            <Thoughts text={part.text} isGrowing={isGrowing} />
          </Author>
        ) : null;
      case 'file':
        return <FilePart file={part} alt={pictures.receivedPicture} />;
      case 'data-image':
        return (
          <Picture
            url={`data:${part.data.mediaType};base64,${part.data.data}`}
            alt={pictures.receivedPicture}
          />
        );
      case 'data-executable-code':
        return (
          <CodeBlock code={part.data.code} language={part.data.language.toLowerCase()} isGrowing={false} />
        );
      case 'data-code-execution-result':
        return <CodeBlock code={part.data.output} language={message.codeResult} isGrowing={false} />;
      case 'step-start':
      // Sources are shown together below the answer.
      case 'source-url':
      case 'source-document':
      // Transient data is shown by other components, if at all.
      case 'data-pcm':
      case 'data-audio':
      case 'data-transcript':
      case 'data-error':
      case 'data-session':
      case 'data-settled':
      case 'data-waiting':
      case 'data-reset':
        return null;
      default:
        return <p className="text-sm text-soft italic">{message.unknownPart}</p>;
    }
  },
  (before, after) =>
    before.isGrowing === after.isGrowing &&
    before.place === after.place &&
    before.onDecide === after.onDecide &&
    isSame(before.part, after.part),
);

function isSame(one: object, other: object): boolean {
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Reflect.get(one, key) === Reflect.get(other, key))
  );
}
