import type { Hearing, Microphone, Speaking, VoiceState } from './voice-state.ts';

/** What a voice is like now, for whoever shows it. */
export class ShownState {
  readonly #watchers = new Set<() => void>();
  readonly #speaker: () => Hearing['speaker'];
  #microphone: Microphone = { status: 'off', error: null };
  #hearing: Hearing = { speaker: null, isSilent: false, isBlocked: false };
  #state: VoiceState = { ...this.#microphone, ...this.#hearing };

  /** `speaker` says who speaks now. */
  constructor(speaker: () => Hearing['speaker']) {
    this.#speaker = speaker;
  }

  get state(): VoiceState {
    return this.#state;
  }

  get microphone(): Microphone {
    return this.#microphone;
  }

  /** How the microphone was switched on; null while it is off. */
  get how(): Speaking | null {
    return this.#microphone.status === 'off' ? null : this.#microphone.how;
  }

  subscribe(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  become(microphone: Microphone): void {
    this.#microphone = microphone;
    this.tell();
  }

  /** Tells everybody, with what has changed beside the microphone. */
  tell(change: Partial<Hearing> = {}): void {
    this.#hearing = { ...this.#hearing, ...change, speaker: this.#speaker() };
    this.#state = { ...this.#microphone, ...this.#hearing };
    for (const watcher of [...this.#watchers]) watcher();
  }
}
