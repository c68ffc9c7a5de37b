import type { Content, Part } from '@google/genai';

/** Types whose content is text, beside `text/*`. */
const TEXT =
  /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|x-ndjson|javascript|sql|.+\+(?:json|xml))|image\/svg\+xml)$/;

/** Whether the content of a media type is text: models get it as text, since most of them take no other form of it. */
export function isTextType(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/** A part as a model reads it: a text file as a text that names it, any other part as it is. */
export function readable(part: Part): Part {
  const { data, mimeType = '', displayName } = part.inlineData ?? {};
  if (!data || !isTextType(mimeType)) return part;
  return { text: textOfFile(Buffer.from(data, 'base64').toString('utf8'), mimeType, displayName) };
}

/** A content as a live session takes it: pictures, and files of text as text. For every other file it says that the model cannot read it. */
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
