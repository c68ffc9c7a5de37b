import { Paperclip } from 'lucide-react';
import { Picture } from './picture.tsx';

/** A file of a message: a picture or a film as such, sound to be played, anything else by its name, to be opened or saved. */
export function FilePart({
  file: { url, mediaType, filename },
  alt,
}: {
  file: { url: string; mediaType: string; filename?: string | undefined };
  /** What a picture is called. */
  alt: string;
}) {
  if (mediaType.startsWith('image/')) return <Picture url={url} alt={alt} />;
  const player = { src: url, controls: true, className: 'max-h-96 max-w-full rounded-xl' };
  // Models give no captions.
  if (isSafe(url) && mediaType.startsWith('video/')) return <video {...player} playsInline muted />;
  if (isSafe(url) && mediaType.startsWith('audio/')) return <audio {...player} />;
  const look =
    'inline-flex max-w-full items-center gap-2 rounded-xl border border-line bg-surface px-3 py-2 text-sm';
  const content = (
    <>
      <Paperclip className="size-4 shrink-0 text-soft" aria-hidden="true" />
      <span className="truncate">{filename ?? mediaType}</span>
    </>
  );
  if (!isSafe(url)) return <span className={look}>{content}</span>;
  return (
    <a
      href={url}
      download={filename ?? ''}
      target="_blank"
      rel="noreferrer noopener"
      className={`${look} hover:border-line-strong`}
    >
      {content}
    </a>
  );
}

/** Whether following the address only fetches something. */
function isSafe(url: string): boolean {
  return (
    URL.canParse(url, location.href) && /^(https?|data|blob):$/.test(new URL(url, location.href).protocol)
  );
}
