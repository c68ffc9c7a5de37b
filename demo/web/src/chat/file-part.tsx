import { Paperclip } from 'lucide-react';
import { byteCount } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { Picture } from './picture.tsx';

interface File {
  url: string;
  mediaType: string;
  filename?: string | undefined;
  providerMetadata?: Record<string, Record<string, unknown>> | undefined;
}

/**
 * Shows a file of a message: pictures, films and sounds directly, other files as a link. A file that a tool saved is
 * always shown with its name and version.
 */
export function FilePart({
  file,
  alt,
}: {
  file: File;
  /** The alternative text of a picture. */
  alt: string;
}) {
  const shown = <Shown file={file} alt={alt} />;
  if (!isShown(file)) return <FileLink file={file} />;
  if (artifactOf(file) === null) return shown;
  return (
    <div className="flex flex-col items-start gap-2">
      {shown}
      <FileLink file={file} />
    </div>
  );
}

function isShown({ url, mediaType }: File): boolean {
  return mediaType.startsWith('image/') || (isSafe(url) && /^(?:video|audio)\//.test(mediaType));
}

function Shown({ file: { url, mediaType }, alt }: { file: File; alt: string }) {
  if (mediaType.startsWith('image/')) return <Picture url={url} alt={alt} />;
  const player = { src: url, controls: true, className: 'max-h-96 max-w-full rounded-xl' };
  // Biome asks for captions, which films and sounds of models do not have.
  return mediaType.startsWith('video/') ? <video {...player} playsInline muted /> : <audio {...player} />;
}

/** A link to a file: its name, and the version and size if a tool saved it. */
function FileLink({ file }: { file: File }) {
  const { messages, language } = useLanguage();
  const { url, mediaType } = file;
  const artifact = artifactOf(file);
  const name = artifact?.name ?? file.filename ?? mediaType;
  const facts = artifact && [
    messages.files.version(artifact.version),
    ...(artifact.bytes === null ? [] : [byteCount(artifact.bytes, language)]),
  ];
  const look =
    'inline-flex max-w-full items-center gap-2 rounded-xl border border-line bg-surface px-3 py-2 text-sm';
  const content = (
    <>
      <Paperclip className="size-4 shrink-0 text-soft" aria-hidden="true" />
      <span className="truncate">{name}</span>
      {facts ? <span className="shrink-0 text-soft">{facts.join(' · ')}</span> : null}
    </>
  );
  if (!isSafe(url)) return <span className={look}>{content}</span>;
  return (
    <a
      href={url}
      download={artifact?.name ?? file.filename ?? ''}
      target="_blank"
      rel="noreferrer noopener"
      className={`${look} hover:border-line-strong`}
    >
      {content}
    </a>
  );
}

/** The name, version and size of a file that a tool saved; null for any other file. */
function artifactOf({ providerMetadata }: File) {
  const { filename, version, bytes } = providerMetadata?.duologue ?? {};
  if (typeof filename !== 'string' || typeof version !== 'number') return null;
  return { name: filename.replace(/^user:/, ''), version, bytes: typeof bytes === 'number' ? bytes : null };
}

/** Whether an address is safe in a link: it leads to a resource and runs no script. */
function isSafe(url: string): boolean {
  return (
    URL.canParse(url, location.href) && /^(https?|data|blob):$/.test(new URL(url, location.href).protocol)
  );
}
