import type { ArtifactContent, ArtifactInfo } from './artifacts.ts';
import { fromText, orNull } from './rules.ts';

/** A row of the table `artifacts`. */
export interface ArtifactRow {
  version: number;
  part: string;
  bytes: Uint8Array | null;
  media_type: string | null;
  metadata: string | null;
}

/** Makes the content of an artifact version from its row. */
export function contentOf(row: Omit<ArtifactRow, 'version'>): ArtifactContent {
  return {
    part: row.part,
    bytes: orNull(row.bytes, (bytes) => new Uint8Array(bytes)),
    mediaType: orNull(row.media_type, fromText),
    metadata: row.metadata,
  };
}

/** Makes the description of an artifact version, without its content, from its row. */
export function infoOf(row: Omit<ArtifactRow, 'part' | 'bytes'>): ArtifactInfo {
  const { version, metadata } = row;
  return { version, mediaType: orNull(row.media_type, fromText), metadata };
}
