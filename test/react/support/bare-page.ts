import { WebSocket } from 'ws';
import type { Message } from '../../../src/protocol/index.ts';
import { Conversation } from '../../../src/react/conversation.ts';
import type { ConversationOptions } from '../../../src/react/options.ts';

/** A page as `useDuologue` makes one, without its components. */
export class BarePage {
  readonly conversation: Conversation;
  readonly close: () => void;

  constructor(options: ConversationOptions) {
    this.conversation = new Conversation(options);
    const stop = this.conversation.chat['~registerStatusCallback'](() =>
      setTimeout(() => {
        if (this.isReady) this.conversation.chatSettled();
      }, 0),
    );
    const end = this.conversation.start();
    this.close = () => {
      stop();
      end();
    };
  }

  get messages(): Message[] {
    return this.conversation.chat.messages;
  }

  /** Whether the chat reads no response. */
  get isReady(): boolean {
    const { status } = this.conversation.chat;
    return status === 'ready' || status === 'error';
  }

  /** Whether the user may send: a page keeps text typed before that. */
  get isOpen(): boolean {
    return this.isReady && this.conversation.state.history.status === 'ready';
  }

  /** Whether loading the history failed. */
  get hasFailed(): boolean {
    return this.conversation.state.history.status === 'failed';
  }

  /** A description of the state, for failure messages. */
  get standing(): string {
    const { state, live, chat } = this.conversation;
    const heard = live.isAtRest ? 'all is heard' : 'more is to come';
    const { history, connection } = state;
    const why = history.status === 'failed' ? ` (${history.error.message})` : '';
    return [chat.status, history.status + why, connection.status, heard].join(', ');
  }

  /** Whether the page is connected and has received all chunks. */
  get isAtRest(): boolean {
    const { state, live } = this.conversation;
    return this.isOpen && state.connection.status === 'live' && live.isAtRest;
  }
}

/** The network of one page. A test can break all its sockets and requests. */
export function breakableLine(): Pick<ConversationOptions, 'WebSocket' | 'fetch'> & { drop: () => void } {
  const sockets = new Set<WebSocket>();
  let line = new AbortController();
  class LineSocket extends WebSocket {
    constructor(address: string, protocols: string[]) {
      super(address, protocols);
      sockets.add(this);
      this.on('error', () => undefined);
      this.on('close', () => sockets.delete(this));
    }
  }
  return {
    WebSocket: LineSocket as never,
    fetch: (input, init) =>
      fetch(input, {
        ...init,
        signal: AbortSignal.any([line.signal, ...(init?.signal ? [init.signal] : [])]),
      }),
    drop: () => {
      for (const socket of sockets) socket.terminate();
      line.abort(new TypeError('terminated'));
      line = new AbortController();
    },
  };
}
