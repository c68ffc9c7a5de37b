import { type ArtifactContent, StaleFence, StoreError } from '../../server/store/store.ts';
import { keyOf, type Opened, type TestRunner } from './setup.ts';

const key = keyOf('s1');

/** The content of an artifact with these bytes; with null it is a text. */
function contentOf(bytes: number[] | null, change: Partial<ArtifactContent> = {}): ArtifactContent {
  return {
    part: bytes === null ? '{"text":"hi"}' : '{"inlineData":{"mimeType":"text/csv"}}',
    bytes: bytes === null ? null : Uint8Array.from(bytes),
    mediaType: bytes === null ? null : 'text/csv',
    metadata: null,
    ...change,
  };
}

/** The tests of artifacts: files that tools save under names, in versions. */
export function artifactsSuite({ test, expect, beforeEach }: TestRunner, { store }: Opened): void {
  beforeEach(() => store().createSession(key, {}));

  test('each save of an artifact adds a version from 0 on, and every version comes back byte for byte', async () => {
    const first = contentOf([0, 1, 255], { metadata: '{"by":"ann"}' });
    const second = contentOf(null);
    expect(await store().saveArtifact(key, 'a.csv', first)).toBe(0);
    expect(await store().saveArtifact(key, 'a.csv', second)).toBe(1);
    expect(await store().saveArtifact(key, 'b.csv', contentOf([]))).toBe(0);
    expect(await store().loadArtifact(key, 'a.csv', 0)).toEqual(first);
    expect(await store().loadArtifact(key, 'a.csv', 1)).toEqual(second);
    expect(await store().loadArtifact(key, 'a.csv')).toEqual(second);
    expect(await store().loadArtifact(key, 'b.csv')).toEqual(contentOf([]));
    expect(await store().artifactVersions(key, 'a.csv')).toEqual([
      { version: 0, mediaType: 'text/csv', metadata: '{"by":"ann"}' },
      { version: 1, mediaType: null, metadata: null },
    ]);
    expect(await store().artifactNames(key)).toEqual(['a.csv', 'b.csv']);
    for (const version of [2, -1, 0.5, 2 ** 40])
      expect(await store().loadArtifact(key, 'a.csv', version)).toBeNull();
    expect(await store().loadArtifact(key, 'c.csv')).toBeNull();
    expect(await store().artifactVersions(key, 'c.csv')).toEqual([]);
  });

  test('versions that are saved at the same time get different numbers', async () => {
    const saves = Array.from({ length: 8 }, (_, index) => store().saveArtifact(key, 'a', contentOf([index])));
    expect((await Promise.all(saves)).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('an artifact belongs to its session, and is deleted with it', async () => {
    const other = keyOf('s2');
    await store().createSession(other, {});
    await store().saveArtifact(key, 'a', contentOf([1]));
    for (const foreign of [other, keyOf('s1', 'bob'), keyOf('s1', 'ann', 'bank'), keyOf('none')]) {
      expect(await store().loadArtifact(foreign, 'a')).toBeNull();
      expect(await store().artifactNames(foreign)).toEqual([]);
      expect(await store().artifactVersions(foreign, 'a')).toEqual([]);
    }
    expect(await store().deleteSession(key)).toBe(true);
    await store().createSession(key, {});
    expect(await store().loadArtifact(key, 'a')).toBeNull();
    expect(await store().saveArtifact(key, 'a', contentOf([2]))).toBe(0);
  });

  test('an artifact whose name begins with "user:" belongs to the user, and outlives the session', async () => {
    const other = keyOf('s2');
    await store().createSession(other, {});
    await store().createSession(keyOf('s1', 'bob'), {});
    expect(await store().saveArtifact(key, 'user:a', contentOf([1]))).toBe(0);
    expect(await store().saveArtifact(other, 'user:a', contentOf([2]))).toBe(1);
    await store().saveArtifact(other, 'b', contentOf([3]));
    expect(await store().artifactNames(other)).toEqual(['b', 'user:a']);
    expect(await store().artifactNames(keyOf('s1', 'bob'))).toEqual([]);
    expect(await store().loadArtifact(keyOf('s1', 'bob'), 'user:a')).toBeNull();
    expect(await store().deleteSession(key)).toBe(true);
    expect(await store().loadArtifact(other, 'user:a', 0)).toEqual(contentOf([1]));
    expect(await store().loadArtifact(other, 'user:a')).toEqual(contentOf([2]));
  });

  test('an artifact is removed with all its versions', async () => {
    await store().saveArtifact(key, 'a', contentOf([1]));
    await store().saveArtifact(key, 'a', contentOf([2]));
    await store().saveArtifact(key, 'user:a', contentOf([3]));
    await store().removeArtifact(key, 'a');
    await store().removeArtifact(key, 'none');
    expect(await store().artifactNames(key)).toEqual(['user:a']);
    await store().removeArtifact(key, 'user:a');
    expect(await store().artifactNames(key)).toEqual([]);
    expect(await store().saveArtifact(key, 'a', contentOf([4]))).toBe(0);
  });

  test('the size of a session includes its artifacts, and those of the user have a separate size', async () => {
    const before = await store().sessionBytes(key);
    const content = contentOf([1, 2, 3], { metadata: '{"é":1}' });
    await store().saveArtifact(key, 'a', content);
    await store().saveArtifact(key, 'user:a', content);
    const size = content.part.length + 3 + 8;
    expect((await store().sessionBytes(key)) - before).toBe(size);
    expect(await store().userArtifactBytes(key)).toBe(size);
    expect(await store().userArtifactBytes(keyOf('s1', 'bob'))).toBe(0);
  });

  test('only the owner of the session writes artifacts', async () => {
    const owner = (await store().own(key)) ?? key;
    for (const name of ['a', 'user:a']) {
      await expect(store().saveArtifact(key, name, contentOf([1]))).rejects.toThrow(StaleFence);
      await expect(store().removeArtifact(key, name)).rejects.toThrow(StaleFence);
      expect(await store().saveArtifact(owner, name, contentOf([1]))).toBe(0);
      await expect(store().saveArtifact(keyOf('none'), name, contentOf([1]))).rejects.toThrow(StoreError);
    }
  });

  test('any text is a name of an artifact, and different names stay different', async () => {
    const names = [
      '..',
      '../../etc/passwd',
      'a\0',
      'a',
      '\ud800',
      '\ud801',
      '__proto__',
      '%2e%2e',
      'é',
      'e\u0301',
      "'; drop table artifacts; --",
    ];
    for (const [index, name] of names.entries()) await store().saveArtifact(key, name, contentOf([index]));
    for (const [index, name] of names.entries())
      expect(await store().loadArtifact(key, name)).toEqual(contentOf([index]));
    expect(await store().artifactNames(key)).toEqual(names.toSorted());
  });

  test('bytes are not shared with the caller', async () => {
    const content = contentOf([1, 2]);
    await store().saveArtifact(key, 'a', content);
    content.bytes?.fill(9);
    const loaded = await store().loadArtifact(key, 'a');
    loaded?.bytes?.fill(8);
    expect(await store().loadArtifact(key, 'a')).toEqual(contentOf([1, 2]));
  });
}
