import type { ReactNode } from 'react';

/** The agent that wrote a part, where several agents write at once; null where there is only one. */
function authorOf(part: { providerMetadata?: object | undefined }): string | null {
  const { duologue } = (part.providerMetadata ?? {}) as { duologue?: { author?: unknown } };
  return typeof duologue?.author === 'string' ? duologue.author : null;
}

/** Shows a part below the name of the agent that wrote it, if the server names one. */
export function Author({
  part,
  children,
}: {
  part: { providerMetadata?: object | undefined };
  children: ReactNode;
}) {
  const author = authorOf(part);
  if (author === null) return children;
  return (
    <div data-author={author}>
      <p className="mb-1 text-xs font-medium text-soft">{author}</p>
      {children}
    </div>
  );
}
