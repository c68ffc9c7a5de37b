import type { BaseArtifactService, Event, EventActions, Session } from '@google/adk';
import type { Part } from '@google/genai';
import { base64Bytes, type Chunk } from '../protocol/index.ts';

/** The chunk that shows a file. */
export type FileChunk = Extract<Chunk, { type: 'file' }>;

/** The fields that identify the session whose tools save artifacts. */
type Saver = Pick<Session, 'appName' | 'userId' | 'id'>;

const KEY = 'duologue.files';

/** The custom metadata that records in an event which files its tools saved. */
export function withSavedFiles(files: readonly FileChunk[]): Record<string, unknown> {
  return files.length === 0 ? {} : { [KEY]: files };
}

/** The files that `withSavedFiles` recorded in an event; none for any other event. */
export function savedFilesIn({ customMetadata }: Pick<Event, 'customMetadata'>): readonly FileChunk[] {
  return (customMetadata?.[KEY] as FileChunk[] | undefined) ?? [];
}

/**
 * The chunks of the artifacts in an `artifactDelta`: one for each name, with its newest version. `addressOf` returns the address of a version. An artifact
 * that cannot be read now is shown without its size, as bytes of an unknown type: the page can still open its address later. Artifacts that do not exist,
 * or that no browser can open, have no chunk.
 */
export async function savedFiles(
  service: BaseArtifactService | undefined,
  session: Saver,
  { artifactDelta = {} }: Partial<Pick<EventActions, 'artifactDelta'>>,
  addressOf: (name: string, version: number) => string,
): Promise<FileChunk[]> {
  if (!service) return [];
  const { appName, userId, id: sessionId } = session;
  const files = Object.entries(artifactDelta).map(async ([filename, version]) => {
    const found = service.loadArtifact({ appName, userId, sessionId, filename, version });
    const part = await found.catch((): Part => ({}));
    return part ? [fileChunk(part, filename, version, addressOf)] : [];
  });
  return (await Promise.all(files)).flat().filter((file) => file !== null);
}

/** The chunk of an artifact; null for an artifact whose content is at an address that no browser can open, such as `gs://…`. */
function fileChunk(
  { inlineData, text, fileData }: Part,
  filename: string,
  version: number,
  addressOf: (name: string, version: number) => string,
): FileChunk | null {
  const url = fileData?.fileUri ?? addressOf(filename, version);
  if (fileData && !/^https?:/i.test(url)) return null;
  const bytes = inlineData?.data ? base64Bytes(inlineData.data) : text ? utf8Bytes(text) : undefined;
  const mediaType = inlineData?.mimeType ?? fileData?.mimeType ?? (text ? 'text/plain' : undefined);
  return {
    type: 'file',
    url,
    mediaType: mediaType ?? 'application/octet-stream',
    providerMetadata: { duologue: { filename, version, ...(bytes === undefined ? {} : { bytes }) } },
  };
}

function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
