import type { OwnedKey, SessionKey } from './keys.ts';

/** One version of an artifact, as a store keeps it. */
export interface ArtifactContent {
  /** ADK's part as JSON, without the bytes of its `inlineData`. */
  part: string;
  /** The bytes of `inlineData`; null when the part has none. */
  bytes: Uint8Array | null;
  mediaType: string | null;
  /** The custom metadata of the application as JSON; null when there is none. */
  metadata: string | null;
}

/** A version of an artifact without its content. */
export interface ArtifactInfo extends Pick<ArtifactContent, 'mediaType' | 'metadata'> {
  version: number;
}

/**
 * The part of a store that keeps artifacts: files that tools save under names. Each save adds a version; the first is 0. An artifact belongs to its session
 * and is deleted with it. An artifact whose name begins with `user:` belongs to the user, and all sessions of the user can read it. Every method is one
 * transaction. A write carries the fence of the session's owner: with another fence it writes nothing and throws `StaleFence`. A write also throws
 * `StoreError` when the session does not exist.
 */
export interface ArtifactStore {
  /** Adds a version of an artifact and returns its number. */
  saveArtifact(key: OwnedKey, name: string, content: ArtifactContent): Promise<number>;
  /** A version of an artifact, or without `version` the newest; null when the artifact or the version does not exist. */
  loadArtifact(key: SessionKey, name: string, version?: number): Promise<ArtifactContent | null>;
  /** The names of the artifacts of the session and of its user, sorted. */
  artifactNames(key: SessionKey): Promise<string[]>;
  /** The versions of an artifact, oldest first. */
  artifactVersions(key: SessionKey, name: string): Promise<ArtifactInfo[]>;
  /** Removes all versions of an artifact. The next save under this name is version 0 again. */
  removeArtifact(key: OwnedKey, name: string): Promise<void>;
  /** How many bytes the artifacts of the user have. `Store.sessionBytes` counts those of the session. */
  userArtifactBytes(key: SessionKey): Promise<number>;
}

/** Whether an artifact belongs to the user, by ADK's rule for names. */
export function isOfUser(name: string): boolean {
  return name.startsWith('user:');
}

/** How many bytes a version takes in the store. */
export function bytesOf({ part, bytes, metadata }: ArtifactContent): number {
  return Buffer.byteLength(part) + (bytes?.byteLength ?? 0) + Buffer.byteLength(metadata ?? '');
}
