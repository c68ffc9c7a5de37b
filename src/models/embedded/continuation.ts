import type { LlmRequest } from '@google/adk';
import { CONTINUE } from '../continue.ts';

type Content = LlmRequest['contents'][number];

/**
 * Splits the contents of a request to continue a cut answer into the contents before that answer and the text that was already
 * written of it. Null for any other request.
 */
export function readContinuation(
  contents: readonly Content[],
): { contents: Content[]; written: string } | null {
  if (!contents.at(-1)?.parts?.some(isInstruction)) return null;
  const rest = contents.flatMap((content) => withoutInstruction(content));
  const from = rest.findLastIndex((content) => content.role !== 'model' || content.parts?.some(hasCall));
  const written = rest
    .splice(from + 1)
    .flatMap(({ parts = [] }) => parts.map((part) => (part.thought ? '' : (part.text ?? ''))));
  return { contents: rest, written: written.join('') };
}

function isInstruction(part: NonNullable<Content['parts']>[number]): boolean {
  return part.text === CONTINUE;
}

function hasCall(part: NonNullable<Content['parts']>[number]): boolean {
  return part.functionCall !== undefined;
}

function withoutInstruction(content: Content): Content[] {
  const parts = (content.parts ?? []).filter((part) => !isInstruction(part));
  return parts.length === 0 ? [] : [{ ...content, parts }];
}
