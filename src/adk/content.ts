import type { Content, Part } from '@google/genai';
import type { InputPart } from '../protocol/index.ts';

/** What a person said, as ADK wants it. Files must have been resolved to their bytes before. */
export function toContent(parts: readonly Exclude<InputPart, { type: 'stored-file' }>[]): Content {
  return {
    role: 'user',
    parts: parts.map((part): Part => {
      if (part.type === 'text') return { text: part.text };
      return {
        inlineData: {
          mimeType: part.mediaType,
          data: part.data,
          ...(part.filename === undefined ? {} : { displayName: part.filename }),
        },
      };
    }),
  };
}
