import type { Content, ContentUnion, Part } from '@google/genai';

/** The parts of an instruction: ADK's own is a text, an agent's configuration may hold any form of content. */
export function instructionParts(instruction: ContentUnion): Part[] {
  const given: (Content | Part | string)[] = Array.isArray(instruction) ? instruction : [instruction];
  return given.flatMap((item) => {
    if (typeof item === 'string') return [{ text: item }];
    return isContent(item) ? (item.parts ?? []) : [item];
  });
}

function isContent(value: Content | Part): value is Content {
  return 'parts' in value;
}
