import type { Message } from 'duologue/protocol';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { hasLasted } from '../approval/card-state.ts';
import { handFocusOn } from '../composer/focus-box.ts';
import { dollars, number } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { asToolPart } from '../tools/tool-part.ts';
import { Confirm } from '../ui/confirm.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { InspectButton } from '../wire/inspection.tsx';
import { briefThought } from './brief-thought.ts';
import { textOf } from './message-text.ts';
import { useCost } from './use-cost.ts';

/** The name of the embedded model, which answers when no model key is set. */
const DEMO_MODEL = 'duologue-embedded';

/** The line below a message: its actions, time, tokens and cost. */
export function Footer({ message, onRegenerate }: { message: Message; onRegenerate: (() => void) | null }) {
  const { messages, language } = useLanguage();
  const words = messages.message;
  const text = textOf(message);
  const { usage, modelVersion, interrupted, cutOff } = message.metadata ?? {};
  const cost = useCost(message);
  const [isConfirming, setConfirming] = useState(false);
  const hasEffects = message.parts.some((part) => {
    const call = asToolPart(part);
    return call !== null && hasLasted(call);
  });
  const thoughts = message.parts.flatMap((part) => briefThought(part) || []);
  const facts = [
    ...thoughts,
    modelVersion === DEMO_MODEL ? null : (modelVersion ?? null),
    typeof usage?.input === 'number' && typeof usage.output === 'number'
      ? words.tokens(number(usage.input, language), number(usage.output, language))
      : null,
    cost === null ? null : words.cost(dollars(cost, language)),
  ].filter((fact) => fact !== null);
  return (
    <footer className="-ml-2 flex items-center gap-x-1 text-xs text-soft">
      {text === '' ? null : <CopyButton text={text} className="size-8" />}
      {onRegenerate ? (
        <>
          <IconButton
            ref={handFocusOn}
            label={words.regenerate}
            onClick={hasEffects ? () => setConfirming(true) : onRegenerate}
            className="size-8"
          >
            <RotateCcw className="size-4" />
          </IconButton>
          <Confirm
            title={words.regenerateTitle}
            text={words.regenerateText}
            action={words.regenerate}
            isOpen={isConfirming}
            onAnswer={(isConfirmed) => {
              setConfirming(false);
              if (isConfirmed) onRegenerate();
            }}
          />
        </>
      ) : null}
      {interrupted && !cutOff ? <span className="shrink-0 px-2">{words.interrupted}</span> : null}
      {modelVersion === DEMO_MODEL ? <span className="shrink-0 px-2">{words.demoModel}</span> : null}
      <InspectButton target={{ messageId: message.id }} />
      {facts.length > 0 ? (
        <span className="min-w-0 truncate px-2 tabular-nums opacity-0 transition-opacity group-focus-within/answer:opacity-100 group-hover/answer:opacity-100">
          {facts.join(' · ')}
        </span>
      ) : null}
    </footer>
  );
}
