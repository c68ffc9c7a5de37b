import { type ArtifactContent, type ArtifactInfo, bytesOf } from '../artifacts.ts';

/** The artifacts of one session, or of one user, by name. */
export class HeldArtifacts {
  readonly #versions = new Map<string, ArtifactContent[]>();

  save(name: string, content: ArtifactContent): number {
    const versions = this.#versions.get(name) ?? [];
    this.#versions.set(name, versions);
    return versions.push(copyOf(content)) - 1;
  }

  load(name: string, version?: number): ArtifactContent | null {
    const versions = this.#versions.get(name) ?? [];
    const found = version === undefined ? versions.at(-1) : versions[version];
    return found === undefined ? null : copyOf(found);
  }

  names(): string[] {
    return [...this.#versions.keys()];
  }

  versions(name: string): ArtifactInfo[] {
    const versions = this.#versions.get(name) ?? [];
    return versions.map(({ mediaType, metadata }, version) => ({ version, mediaType, metadata }));
  }

  remove(name: string): void {
    this.#versions.delete(name);
  }

  get bytes(): number {
    let bytes = 0;
    for (const versions of this.#versions.values()) for (const one of versions) bytes += bytesOf(one);
    return bytes;
  }
}

/** A copy whose bytes the caller may change. */
function copyOf(content: ArtifactContent): ArtifactContent {
  return { ...content, bytes: content.bytes && Uint8Array.from(content.bytes) };
}
