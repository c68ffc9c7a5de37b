import { useMessages } from '../i18n/language.tsx';
import { hasOutput, isInProgress, type ToolPart } from './tool-part.ts';

/** The arguments and the output of a call, unchanged. */
export function ToolDetails({ part }: { part: ToolPart }) {
  const { tools } = useMessages();
  return (
    <div className="space-y-3 px-4 py-3 text-xs">
      <Json label={tools.input} value={part.input ?? {}} />
      {hasOutput(part) ? <Json label={tools.output} value={part.output} /> : null}
      {isInProgress(part) ? <Json label={tools.progress} value={part.output} /> : null}
      {part.errorText ? <Json label={tools.error} value={part.errorText} /> : null}
    </div>
  );
}

/** The output of a call, unchanged. */
export function ToolOutput({ part }: { part: ToolPart }) {
  const { tools } = useMessages();
  return (
    <div className="text-xs">
      <Json label={tools.output} value={part.output} />
    </div>
  );
}

function Json({ label, value }: { label: string; value: unknown }) {
  return (
    <div>
      <p className="mb-1 text-soft">{label}</p>
      <pre className="overflow-x-auto rounded-lg bg-sunken p-3 font-mono leading-relaxed break-words whitespace-pre-wrap">
        {typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
      </pre>
    </div>
  );
}
