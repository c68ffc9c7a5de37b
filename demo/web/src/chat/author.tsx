import type { ReactNode } from 'react';

/** The name of the agent that wrote a part; null when the server names none, because only one agent writes. */
function authorOf(part: { providerMetadata?: object | undefined }): string | null {
  const { duologue } = (part.providerMetadata ?? {}) as { duologue?: { author?: unknown } };
  return typeof duologue?.author === 'string' ? duologue.author : null;
}

/** Shows a part with the name of its agent above it, if the server names one. */
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
