/** Those who want to hear of something. */
export class Listeners<T extends unknown[]> {
  readonly #all = new Set<(...told: T) => void>();

  /** The returned function ends that the listener hears. */
  add(listener: (...told: T) => void): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  tell(...told: T): void {
    for (const listener of [...this.#all]) listener(...told);
  }
}
