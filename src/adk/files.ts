import type { InvocationContext, Session } from '@google/adk';
import type { Content, Part } from '@google/genai';

/** The scheme of the URI by which a part of an event refers to a file of its session: `duologue-file:<id>?bytes=<size>`. */
const SCHEME = 'duologue-file:';

/** Reads the files that events refer to; the session service of a server is one. */
export interface FileSource {
  /** Bytes of files in one request to a model. */
  readonly maxImageBytes: number;
  /** A file of a session; null when it is gone. */
  readFile(session: Session, fileId: string): Promise<Uint8Array | null>;
}

/** A part that refers to a file, in place of one that holds the bytes. */
export function fileReference({ inlineData, ...part }: Part, fileId: string, size: number): Part {
  const { mimeType, displayName } = inlineData ?? {};
  return {
    ...part,
    fileData: {
      fileUri: `${SCHEME}${fileId}?bytes=${size}`,
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(displayName === undefined ? {} : { displayName }),
    },
  };
}

/**
 * Replaces references in contents by the bytes of their files, newest first, up to the limit of one request. A short text replaces a
 * file beyond the limit, and one that is gone. Bytes that events of earlier versions hold inline count as well.
 */
export async function withFiles(
  contents: readonly Content[],
  { sessionService, session }: InvocationContext,
): Promise<Content[]> {
  const source = sourceIn(sessionService);
  let left = source?.maxImageBytes ?? 0;
  const resolved: Content[] = [];
  for (const content of contents.toReversed()) {
    const parts: Part[] = [];
    for (const part of content.parts?.toReversed() ?? []) {
      const file = source && fileIn(part);
      if (file) left -= file.size;
      // Once a file is left out, all older files are left out, also small ones that would still fit.
      if (file) parts.push(left < 0 ? omitted(part, file.size) : await read(part, file, source, session));
      else parts.push(part);
    }
    resolved.push(parts.length === 0 ? content : { ...content, parts: parts.reverse() });
  }
  return resolved.reverse();
}

/** The session service, if it reads files: that of a server does. */
function sourceIn(service: object | undefined): FileSource | null {
  return service && 'readFile' in service ? (service as FileSource) : null;
}

/** The file that a part refers to, without an id when the part holds the bytes; null when there is none. */
function fileIn({ fileData, inlineData }: Part): { id: string | null; size: number } | null {
  if (inlineData?.data) return { id: null, size: Math.floor((inlineData.data.length * 3) / 4) };
  if (!fileData?.fileUri?.startsWith(SCHEME)) return null;
  const [id = '', size] = fileData.fileUri.slice(SCHEME.length).split('?bytes=');
  return { id, size: Number(size) };
}

async function read(
  part: Part,
  { id, size }: { id: string | null; size: number },
  source: FileSource,
  session: Session,
): Promise<Part> {
  if (id === null) return part;
  const bytes = await source.readFile(session, id);
  if (!bytes) return omitted(part, size);
  const { fileData: { mimeType, displayName } = {}, ...rest } = part;
  return {
    ...rest,
    inlineData: {
      data: Buffer.from(bytes).toString('base64'),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(displayName === undefined ? {} : { displayName }),
    },
  };
}

function omitted({ fileData, inlineData }: Part, size: number): Part {
  const { displayName, mimeType } = fileData ?? inlineData ?? {};
  const kind = mimeType?.split('/')[0] ?? 'file';
  const words = size < 1_000_000 ? `${Math.ceil(size / 1000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
  return { text: `[${kind} omitted: ${displayName ?? mimeType ?? 'no name'}, ${words}]` };
}
