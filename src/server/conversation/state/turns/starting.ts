import type { RequestRef } from '../effects.ts';
import type { AnswersRequest, MessageRequest, TurnRequest } from '../inputs.ts';

/**
 * A request that is starting. `finding`: the message that it continues is being read. `waiting`: the run of another turn must end first, or the store
 * is asked whether approval requests were decided in time. `reading`: answers that were sent with POST are being read. `storing`: a message is being
 * stored. `stored`: it is stored, and the agent gets it when its live run is open.
 */
export type StartingRequest =
  | { is: 'finding'; request: MessageRequest; isInterrupted: boolean }
  | { is: 'waiting'; request: TurnRequest }
  | { is: 'reading'; request: AnswersRequest; isInterrupted: boolean }
  | { is: 'storing'; request: MessageRequest; id: string; isInterrupted: boolean }
  | { is: 'stored'; request: MessageRequest; id: string };

/** The request that is starting; at most one. */
export class Starting {
  private starting: StartingRequest | null = null;

  get current(): Readonly<StartingRequest> | null {
    return this.starting;
  }

  get request(): TurnRequest | null {
    return this.starting?.request ?? null;
  }

  /** Whether this request is the one that is starting. */
  isOf({ id }: RequestRef): boolean {
    return this.starting?.request.request.id === id;
  }

  set(starting: StartingRequest): void {
    this.starting = starting;
  }

  clear(): void {
    this.starting = null;
  }

  /** Records an interruption by the user: a request that is being read or stored ends as soon as it has started. */
  interrupt(): void {
    if (this.starting && 'isInterrupted' in this.starting) this.starting.isInterrupted = true;
  }

  /** Call it when answers that were sent with POST have been read. Returns whether they were interrupted meanwhile. */
  finishReading(): boolean {
    const { starting } = this;
    this.starting = null;
    return starting?.is === 'reading' && starting.isInterrupted;
  }

  /** Marks a message that could not be stored in the queue, so that it is stored when it starts. */
  markUnstored(id: string): void {
    const { starting } = this;
    if (starting?.is !== 'waiting' || starting.request.kind !== 'message') return;
    const { isStored: _, ...request } = starting.request;
    if (request.id === id) this.starting = { is: 'waiting', request };
  }
}
