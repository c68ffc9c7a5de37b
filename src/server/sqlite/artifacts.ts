import { type ArtifactRow, contentOf, infoOf } from '../store/artifact-rows.ts';
import { type ArtifactContent, type ArtifactInfo, type ArtifactStore, isOfUser } from '../store/artifacts.ts';
import { fromText, noSuchSession, orNull, toText } from '../store/rules.ts';
import type { SessionKey } from '../store/store.ts';
import type { Database } from './database.ts';
import type { sessionTable } from './sessions.ts';

/** The session or the user to which artifacts belong. For a session `owner` is empty; for a user `session` is 0. */
export interface Holder {
  session: number;
  owner: string;
}

/** The table of artifacts. */
export function artifactTable(db: Database) {
  const of = 'session = ? and owner = ? and name = ?';
  const next = db.prepare<{ version: number }>(
    `select coalesce(max(version), -1) + 1 as version from artifacts where ${of}`,
  );
  const add = db.prepare(
    'insert into artifacts (session, owner, name, version, part, bytes, media_type, metadata) values (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const find = db.prepare<ArtifactRow>(`select * from artifacts where ${of} and version = ?`);
  const newest = db.prepare<ArtifactRow>(`select * from artifacts where ${of} order by version desc limit 1`);
  const infos = db.prepare<Omit<ArtifactRow, 'part' | 'bytes'>>(
    `select version, media_type, metadata from artifacts where ${of} order by version`,
  );
  const names = db.prepare<{ name: string }>(
    'select distinct name from artifacts where session = ? and owner = ?',
  );
  const remove = db.prepare(`delete from artifacts where ${of}`);
  const bytes = db.prepare<{ size: number }>(
    `select coalesce(sum(octet_length(part) + coalesce(octet_length(bytes), 0) + coalesce(octet_length(metadata), 0)), 0) as size
     from artifacts where session = ? and owner = ?`,
  );

  return {
    save({ session, owner }: Holder, name: string, content: ArtifactContent): number {
      const place = [session, owner, toText(name)] as const;
      const version = next.first(...place)?.version ?? 0;
      const { part, mediaType, metadata } = content;
      add.run(...place, version, part, content.bytes, orNull(mediaType, toText), metadata);
      return version;
    },
    load({ session, owner }: Holder, name: string, version?: number): ArtifactContent | null {
      const place = [session, owner, toText(name)] as const;
      const row = version === undefined ? newest.first(...place) : find.first(...place, version);
      return row === undefined ? null : contentOf(row);
    },
    names({ session, owner }: Holder): string[] {
      return names.all(session, owner).map(({ name }) => fromText(name));
    },
    versions({ session, owner }: Holder, name: string): ArtifactInfo[] {
      return infos.all(session, owner, toText(name)).map(infoOf);
    },
    remove({ session, owner }: Holder, name: string): void {
      remove.run(session, owner, toText(name));
    },
    bytes({ session, owner }: Holder): number {
      return bytes.first(session, owner)?.size ?? 0;
    },
  };
}

/** The tables that artifacts need. */
interface Tables {
  sessions: Pick<ReturnType<typeof sessionTable>, 'find' | 'findOwned'>;
  artifacts: ReturnType<typeof artifactTable>;
}

/** The transactions of the store. */
interface Transactions {
  read<T>(work: (tables: Tables) => T): T;
  write<T>(work: (tables: Tables) => T): T;
}

/** The artifacts of a SQLite store. */
export function sqliteArtifacts(transactions: Transactions): ArtifactStore {
  /** The holder of an artifact; null when it belongs to a session that does not exist. */
  const holderOf = ({ sessions }: Tables, key: SessionKey, name: string): Holder | null => {
    if (isOfUser(name)) return userHolder(key);
    const session = sessions.find(key);
    return session === undefined ? null : { session: session.n, owner: '' };
  };
  return {
    async saveArtifact(key, name, content) {
      return transactions.write(({ sessions, artifacts }) => {
        const session = sessions.findOwned(key);
        if (session === undefined) throw noSuchSession(key);
        return artifacts.save(isOfUser(name) ? userHolder(key) : { session, owner: '' }, name, content);
      });
    },
    async loadArtifact(key, name, version) {
      return transactions.read((tables) => {
        const holder = holderOf(tables, key, name);
        return holder && tables.artifacts.load(holder, name, version);
      });
    },
    async artifactNames(key) {
      return transactions.read(({ sessions, artifacts }) => {
        const session = sessions.find(key);
        const own = session === undefined ? [] : artifacts.names({ session: session.n, owner: '' });
        return [...own, ...artifacts.names(userHolder(key))].sort();
      });
    },
    async artifactVersions(key, name) {
      return transactions.read((tables) => {
        const holder = holderOf(tables, key, name);
        return holder === null ? [] : tables.artifacts.versions(holder, name);
      });
    },
    async removeArtifact(key, name) {
      transactions.write(({ sessions, artifacts }) => {
        const session = sessions.findOwned(key);
        if (session === undefined) throw noSuchSession(key);
        artifacts.remove(isOfUser(name) ? userHolder(key) : { session, owner: '' }, name);
      });
    },
    async userArtifactBytes(key) {
      return transactions.read(({ artifacts }) => artifacts.bytes(userHolder(key)));
    },
  };
}

function userHolder({ app, user }: SessionKey): Holder {
  return { session: 0, owner: toText(JSON.stringify([app, user])) };
}
