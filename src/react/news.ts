import type { Pending } from '../client/index.ts';
import type { ToldData } from './options.ts';
import type { ShownMessages } from './shown-messages.ts';

/** What happened elsewhere, in order, until it can be shown: a chat that reads would write over it. */
export class News {
  readonly #shown: ShownMessages;
  #told: { data: ToldData; behind: string | undefined }[] = [];

  constructor(shown: ShownMessages) {
    this.#shown = shown;
  }

  /** `behind`: the message before it of which something is still to be read. */
  add(data: ToldData, behind: string | undefined): void {
    this.#told.push({ data, behind });
  }

  /** Shows what stands behind nothing that is still to be read. */
  show(kept: readonly Pending[]): void {
    const at = this.#told.findIndex(({ behind }) => kept.some(({ messageId }) => messageId === behind));
    const due = this.#told.splice(0, at === -1 ? this.#told.length : at);
    for (const { data: told } of due) {
      if (told.type === 'data-settled') this.#shown.settle(told.data);
      if (told.type === 'data-heard') this.#shown.cut(told.data);
      if (told.type === 'data-message') this.#shown.say(told.data.message);
      if (told.type === 'data-decided') this.#shown.decide(told.data);
      if (told.type === 'data-rewind') this.#shown.rewind(told.data);
    }
  }

  clear(): void {
    this.#told = [];
  }
}
