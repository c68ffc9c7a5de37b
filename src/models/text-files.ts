import type { Content, Part } from '@google/genai';

/** The media types whose content is text. */
const TEXT =
  /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|x-ndjson|javascript|sql|.+\+(?:json|xml))|image\/svg\+xml)$/;

/** Whether files of this media type are text. Models get them as text, because most models accept no files of these types. */
export function isTextType(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/** Converts a text file to a text part that names the file. Returns any other part unchanged. */
export function readable(part: Part): Part {
  const { data, mimeType = '', displayName } = part.inlineData ?? {};
  if (!data || !isTextType(mimeType)) return part;
  return { text: textOfFile(Buffer.from(data, 'base64').toString('utf8'), mimeType, displayName) };
}

/**
 * Converts the files of a content for a live session: pictures stay, text files become texts, and any other file becomes a text which says that the model
 * cannot read it.
 */
export function readableLive(content: Content): Content {
  if (!content.parts?.some(({ inlineData }) => inlineData)) return content;
  return { ...content, parts: content.parts.map((part) => describedLive(readable(part))) };
}

function describedLive(part: Part): Part {
  const { mimeType, displayName } = part.inlineData ?? {};
  if (mimeType === undefined || mimeType.startsWith('image/')) return part;
  const name = displayName === undefined ? mimeType : `${displayName} (${mimeType})`;
  return { text: `[The user attached ${name}. This live session cannot read it.]` };
}

const END = '[end of the file]';

function textOfFile(content: string, mimeType: string, name = 'without a name'): string {
  return `[file ${name}, ${mimeType}]\n${content}\n${END}`;
}
