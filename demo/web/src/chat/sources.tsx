import type { Message } from 'duologue/protocol';
import { ExternalLink } from 'lucide-react';
import { useMessages } from '../i18n/language.tsx';

/** The sources and citations of a message. */
export function Sources({ message }: { message: Message }) {
  const { message: words } = useMessages();
  const sources = message.parts.flatMap((part) => {
    if (part.type === 'source-url')
      return [{ id: part.sourceId, url: part.url, title: part.title ?? part.url }];
    // A document has a title and no address.
    return part.type === 'source-document'
      ? [{ id: part.sourceId, url: '', title: part.title || (part.filename ?? part.mediaType) }]
      : [];
  });
  const citations = (message.metadata?.citations ?? []).filter(({ uri }) => uri !== null);
  if (sources.length === 0 && citations.length === 0) return null;
  return (
    <div className="space-y-2 text-xs text-soft">
      {sources.length > 0 ? (
        <nav aria-label={words.sources} className="flex flex-wrap gap-2">
          {sources.map(({ id, url, title }) => (
            <Source key={id} url={url} title={title} />
          ))}
        </nav>
      ) : null}
      {citations.length > 0 ? (
        <details>
          <summary>{words.citations}</summary>
          <ul className="mt-1 space-y-1">
            {citations.map(({ uri, title, license, startIndex, endIndex }) => (
              <li key={`${uri} ${startIndex} ${endIndex}`} className="flex flex-wrap gap-2">
                <Source url={uri ?? ''} title={title ?? uri ?? ''} />
                {license ? <span>{words.licence(license)}</span> : null}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </div>
  );
}

function Source({ url, title }: { url: string; title: string }) {
  const look =
    'inline-flex max-w-64 items-center gap-1.5 rounded-full border border-line bg-surface px-3 py-1';
  if (!/^https?:/i.test(url)) {
    return (
      <span className={look}>
        <span className="truncate">{title}</span>
      </span>
    );
  }
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer noopener"
      className={`${look} hover:border-line-strong hover:text-ink`}
    >
      <span className="truncate">{title}</span>
      <ExternalLink className="size-3 shrink-0" aria-hidden="true" />
    </a>
  );
}
