import { useMessages } from '../i18n/language.tsx';
import { fields, isInProgress, type ToolPart } from './tool-part.ts';

/** Shows the latest progress of a running call: its text, and a bar if the tool reports a share. */
export function ToolProgress({ part, className = '' }: { part: ToolPart; className?: string }) {
  const { tools } = useMessages();
  if (!isInProgress(part)) return null;
  const { text, share } = progressIn(part.output);
  return (
    <div data-testid="tool-progress" className={`space-y-1.5 text-sm text-soft ${className}`}>
      {text === '' ? null : <p className="break-words">{text}</p>}
      {share === null ? null : (
        <progress
          aria-label={tools.progress}
          value={share}
          max={1}
          className="block h-1.5 w-full overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
        />
      )}
    </div>
  );
}

/** The text of a preliminary output, and the share that is done, from 0 to 1. A value with neither is shown as JSON. */
function progressIn(output: unknown): { text: string; share: number | null } {
  if (typeof output === 'string') return { text: output, share: null };
  const { message, text, status, progress } = fields(output);
  const share = typeof progress === 'number' && progress >= 0 && progress <= 1 ? progress : null;
  const words = [message, text, status].find((one) => typeof one === 'string' && one !== '');
  if (typeof words === 'string') return { text: words, share };
  return { text: share === null ? (JSON.stringify(output) ?? '') : '', share };
}
