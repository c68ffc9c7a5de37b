import { Context } from '@google/adk';
import type { PageMetadata } from '../protocol/index.ts';
import type { DataSchemas, OwnDataInput, OwnDataName } from '../protocol/own-data.ts';

/** How a data part is sent. */
export interface DataOptions {
  /** A later part with the same name and id replaces the value of this one. Without an id each value is a part of its own. */
  id?: string;
  /** The value is sent to the pages that are open, and is not part of the message. */
  transient?: boolean;
}

/** The headers and body fields of a request that the application lets tools see. */
export interface ToolRequest {
  /** The headers by name. The names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Who decided about a call: the user of the session, or an application in the name of a person. A sign-in that a tool asked for counts as a decision of the
 * application `sign-in` in the name of the user.
 */
export type CallDecider =
  | { readonly user: string }
  | { readonly application: string; readonly person: string };

/** What the context of a tool shows of its call: who approved it, and what the page sent. */
export interface CallFacts {
  /** Who approved the call; null when it needed no approval. */
  readonly decidedBy: CallDecider | null;
  /** The metadata of the user message that the turn answers. */
  readonly metadata: PageMetadata;
  /** What the request lets tools see; null when there is no request. */
  readonly request: ToolRequest | null;
}

/** The facts of a call that belongs to no conversation. */
const NO_FACTS: CallFacts = { decidedBy: null, metadata: {}, request: null };

/** Sends what the tool of one call reports while it runs. The server implements it. No method throws. */
export interface CallOutlet {
  /** Sends a preliminary output. */
  progress(output: unknown): void;
  /** Sends a data part. */
  data(name: string, value: unknown, options: DataOptions): void;
  /** Sends metadata of the message. */
  setMetadata(fields: Readonly<Record<string, unknown>>): void;
  /** Call this when the tool call has ended. A preliminary output that waits to be sent is discarded; everything else is sent. */
  close(): void;
}

/** Connects the tool of one call to its conversation, until the call ends. Most tools send nothing, so the outlet is created only when it is used. */
export class CallLink {
  /** What the context shows of the call. */
  readonly facts: CallFacts;
  private readonly make: () => CallOutlet;
  private made: CallOutlet | null = null;
  private isClosed = false;

  constructor(make: () => CallOutlet, facts: CallFacts = NO_FACTS) {
    this.make = make;
    this.facts = facts;
  }

  /** The outlet of the call; null when the call has ended. */
  get outlet(): CallOutlet | null {
    if (this.isClosed) return null;
    this.made ??= this.make();
    return this.made;
  }

  /** Call this when the tool call has ended. Everything that its tool reports later is ignored. */
  close(): void {
    this.isClosed = true;
    this.made?.close();
  }
}

/**
 * The context of a call: ADK's own context, with access to the conversation that the tool runs in. `D` are the schemas of the data parts that the
 * definition of the tool names; without them `data` takes any name. A call inside an agent that is used as a tool has this access only if it waited before it
 * ran, for an approval for example. Otherwise `metadata` is empty, and `decidedBy` and `request` are null.
 */
export class ToolContext<D extends DataSchemas = DataSchemas> extends Context {
  readonly #link: CallLink | undefined;

  constructor(options: ConstructorParameters<typeof Context>[0], link?: CallLink) {
    super(options);
    this.#link = link;
  }

  /** The user of the session. */
  get user(): string {
    return this.userId;
  }

  /** Who approved the call, also after a restart; null when the call needed no approval. */
  get decidedBy(): CallDecider | null {
    return this.#facts.decidedBy;
  }

  /** The metadata that the page sent with the user message that this turn answers, also after a restart; empty when it sent none. */
  get metadata(): PageMetadata {
    return this.#facts.metadata;
  }

  /**
   * The headers and body fields that the option `toolRequest` of the server names, from the request that started or last continued the turn. They are only
   * in memory: null when the call runs after a restart, when the application started the turn, and without that option.
   */
  get request(): ToolRequest | null {
    return this.#facts.request;
  }

  get #facts(): CallFacts {
    return this.#link?.facts ?? NO_FACTS;
  }

  /**
   * Shows a preliminary output on the page while the tool runs. The next preliminary output replaces it, and the output of the call replaces the last one.
   * At most five are sent in a second; a newer one replaces one that was not sent yet. A value that is not JSON, is larger than 32 KB, or does not fit the
   * schema of the output is not sent, and a warning is logged. Does nothing for a call inside an agent that is used as a tool, unless the call waited
   * before it ran.
   */
  progress(output: unknown): void {
    this.#link?.outlet?.progress(output);
  }

  /**
   * Adds a part `data-<name>` to the message that shows the call. The option `data` of the server declares the name and its schema. A value that is not
   * declared, does not fit its schema, is not JSON or is larger than 32 KB is not sent, and a warning is logged; the call does not fail. Values are sent at
   * most five times a second, and all of them before the call ends. Does nothing for a call inside an agent that is used as a tool, unless the
   * call waited before it ran.
   *
   * @example
   * context.data('chart', { title: 'Sales', values: [1, 4, 9] }, { id: 'sales' });
   */
  data<Name extends OwnDataName<D>>(
    name: Name,
    value: OwnDataInput<D, Name>,
    options: DataOptions = {},
  ): void {
    this.#link?.outlet?.data(name, value, options);
  }

  /**
   * Sets metadata of the message that shows the call: `metadata` of the message on the page. Objects are merged; any other value replaces the value of its
   * field. Fields of the protocol (`usage`, `createdAt` and so on) cannot be set. More than 16 KB for a call, or a value that is not JSON, is not sent, and a
   * warning is logged. Does nothing for a call inside an agent that is used as a tool, unless the call waited before it ran.
   *
   * @example
   * context.setMessageMetadata({ sources: { count: 3 } });
   */
  setMessageMetadata(fields: Readonly<Record<string, unknown>>): void {
    this.#link?.outlet?.setMetadata(fields);
  }
}

/** Returns a context that is a `ToolContext` unchanged, and wraps any other. A wrapped context has no conversation: its methods send nothing to the page. */
export function toToolContext(context: Context): ToolContext {
  if (context instanceof ToolContext) return context;
  const { invocationContext, actions: eventActions, functionCallId, toolConfirmation } = context;
  return new ToolContext({
    invocationContext,
    eventActions,
    ...(functionCallId === undefined ? {} : { functionCallId }),
    ...(toolConfirmation === undefined ? {} : { toolConfirmation }),
  });
}
