import { randomUUID } from 'node:crypto';
import { type ArtifactRow, contentOf, infoOf } from '../store/artifact-rows.ts';
import { type ArtifactStore, isOfUser } from '../store/artifacts.ts';
import { fromText, orNull, toText } from '../store/rules.ts';
import type { SessionKey } from '../store/store.ts';
import type { SchemaCalls } from './schema-calls.ts';
import { nameIn, ownerIn } from './values.ts';

/** The artifacts of a PostgreSQL store. */
export function postgresArtifacts(calls: SchemaCalls): ArtifactStore {
  return {
    async saveArtifact(key, name, { part, bytes, mediaType, metadata }) {
      return calls.value<number>(key, 'save_artifact', [
        nameIn(key),
        key.fence,
        randomUUID(),
        scopeOf(key, name),
        toText(name),
        part,
        // Copy the bytes, because the statement may be sent again after the caller has changed them.
        bytes && Buffer.from(bytes),
        orNull(mediaType, toText),
        metadata,
      ]);
    },
    async loadArtifact(key, name, version) {
      // The database would refuse a number that is no 32-bit integer, and no artifact has such a version.
      if (version !== undefined && !(Number.isInteger(version) && version >= 0 && version < 2 ** 31))
        return null;
      const values = [scopeOf(key, name), toText(name), version ?? null];
      const [row] = await calls.read<ArtifactRow>('artifact', values);
      return row ? contentOf(row) : null;
    },
    async artifactNames(key) {
      const rows = await calls.read<{ name: string }>('artifactNames', [nameIn(key), ownerIn(key)]);
      return rows.map(({ name }) => fromText(name)).sort();
    },
    async artifactVersions(key, name) {
      const values = [scopeOf(key, name), toText(name)];
      return (await calls.read<ArtifactRow>('artifactVersions', values)).map(infoOf);
    },
    async removeArtifact(key, name) {
      await calls.call(key, 'remove_artifact', [nameIn(key), key.fence, scopeOf(key, name), toText(name)]);
    },
    async userArtifactBytes(key) {
      const [row] = await calls.read<{ size: number }>('artifactBytes', [ownerIn(key)]);
      return row?.size ?? 0;
    },
  };
}

function scopeOf(key: SessionKey, name: string): string {
  return isOfUser(name) ? ownerIn(key) : nameIn(key);
}
