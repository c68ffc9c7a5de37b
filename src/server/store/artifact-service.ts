import type {
  ArtifactVersion,
  BaseArtifactService,
  DeleteArtifactRequest,
  ListArtifactKeysRequest,
  ListVersionsRequest,
  LoadArtifactRequest,
  SaveArtifactRequest,
} from '@google/adk';
import type { Part } from '@google/genai';
import {
  type ArtifactContent,
  type ArtifactInfo,
  type ArtifactStore,
  bytesOf,
  isOfUser,
} from './artifacts.ts';
import { fromJson, orNull, toJson } from './rules.ts';
import { type OwnedKey, type SessionKey, type Store, StoreError } from './store.ts';

/** The largest sizes of artifacts. */
export interface ArtifactLimits {
  /** The largest size of one version of an artifact in bytes; 10 MB unless given. */
  maxBytes: number;
  /**
   * The largest size of all artifacts of a user (names that begin with `user:`) in bytes; 100 MB unless given. Other artifacts are limited by
   * `history.maxSessionBytes`.
   */
  maxUserBytes: number;
}

const MB = 1024 * 1024;

/** The limits of artifacts unless options say otherwise. */
export const ARTIFACT_LIMITS: Readonly<ArtifactLimits> = { maxBytes: 10 * MB, maxUserBytes: 100 * MB };

const NAME_LENGTH = 256;

/** The store, the function and the limits that `StoreArtifactService` uses. */
export interface ArtifactServiceContext {
  store: ArtifactStore & Pick<Store, 'sessionBytes'>;
  /** Adds the fence of this process to the key of a session. */
  owned: (key: SessionKey) => OwnedKey;
  limits: ArtifactLimits & { maxSessionBytes: number };
}

type SessionRequest = ListArtifactKeysRequest;

/**
 * ADK's artifact service on a store. The tool that saves an artifact gets the errors. Sizes are checked before the write, and not in its transaction, so
 * several saves at the same time may together exceed a limit.
 */
export class StoreArtifactService implements BaseArtifactService {
  readonly #context: ArtifactServiceContext;

  constructor(context: ArtifactServiceContext) {
    this.#context = context;
  }

  async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    const { filename, artifact, customMetadata } = request;
    const { store, owned } = this.#context;
    if (filename === '' || filename.length > NAME_LENGTH)
      throw new StoreError(
        `An artifact needs a name of 1 to ${NAME_LENGTH} characters, not ${filename.length}: choose another name.`,
      );
    const key = keyOf(request);
    const content = contentOf(filename, artifact, customMetadata);
    await this.#checkSize(key, filename, bytesOf(content));
    return store.saveArtifact(owned(key), filename, content);
  }

  async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    const { filename, version } = request;
    const content = await this.#context.store.loadArtifact(keyOf(request), filename, version);
    return content === null ? undefined : partOf(content);
  }

  listArtifactKeys(request: ListArtifactKeysRequest): Promise<string[]> {
    return this.#context.store.artifactNames(keyOf(request));
  }

  async deleteArtifact(request: DeleteArtifactRequest): Promise<void> {
    const { store, owned } = this.#context;
    await store.removeArtifact(owned(keyOf(request)), request.filename);
  }

  async listVersions(request: ListVersionsRequest): Promise<number[]> {
    return (await this.listArtifactVersions(request)).map(({ version }) => version);
  }

  async listArtifactVersions(request: ListVersionsRequest): Promise<ArtifactVersion[]> {
    const infos = await this.#context.store.artifactVersions(keyOf(request), request.filename);
    return infos.map(versionOf);
  }

  async getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    const versions = await this.listArtifactVersions(request);
    const { version } = request;
    return version === undefined ? versions.at(-1) : versions.find((one) => one.version === version);
  }

  async #checkSize(key: SessionKey, name: string, bytes: number): Promise<void> {
    const { store, limits } = this.#context;
    const { maxBytes, maxUserBytes, maxSessionBytes } = limits;
    if (bytes > maxBytes)
      throw new StoreError(
        `The artifact ${JSON.stringify(name)} has ${bytes} bytes, more than ${maxBytes}: save less, or raise the option "artifacts.maxBytes".`,
      );
    if (isOfUser(name) && (await store.userArtifactBytes(key)) + bytes > maxUserBytes)
      throw new StoreError(
        `The artifact ${JSON.stringify(name)} does not fit: the artifacts of a user have at most ${maxUserBytes} bytes. Delete some, or raise the option "artifacts.maxUserBytes".`,
      );
    if (!isOfUser(name) && (await store.sessionBytes(key)) + bytes > maxSessionBytes)
      throw new StoreError(
        `The artifact ${JSON.stringify(name)} does not fit: a session has at most ${maxSessionBytes} bytes. Delete some artifacts, or raise the option "history.maxSessionBytes".`,
      );
  }
}

function keyOf({ appName: app, userId: user, sessionId: id }: SessionRequest): SessionKey {
  return { app, user, id };
}

/** Converts an artifact to the form in which the store keeps it. Throws when the artifact is empty. */
function contentOf(
  name: string,
  artifact: Part,
  custom: Record<string, unknown> | undefined,
): ArtifactContent {
  const { inlineData, text, fileData } = artifact;
  if (!inlineData && !text && !fileData)
    throw new StoreError(
      `The artifact ${JSON.stringify(name)} has no content: pass a part with inlineData, text or fileData.`,
    );
  const { data, ...described } = inlineData ?? {};
  const bytes = inlineData ? Buffer.from(data ?? '', 'base64') : null;
  return {
    part: toJson(inlineData ? { ...artifact, inlineData: described } : artifact, 'The artifact'),
    bytes,
    mediaType: inlineData?.mimeType ?? fileData?.mimeType ?? null,
    metadata: custom === undefined ? null : toJson(custom, 'The metadata of an artifact'),
  };
}

function partOf({ part: text, bytes }: ArtifactContent): Part {
  const part = fromJson<Part>(text);
  if (bytes === null) return part;
  return { ...part, inlineData: { ...part.inlineData, data: Buffer.from(bytes).toString('base64') } };
}

function versionOf({ version, mediaType, metadata }: ArtifactInfo): ArtifactVersion {
  const customMetadata = orNull(metadata, fromJson<Record<string, unknown>>);
  return {
    version,
    ...(mediaType === null ? {} : { mimeType: mediaType }),
    ...(customMetadata === null ? {} : { customMetadata }),
  };
}
