import { randomBytes } from 'node:crypto';
import { type Answer, type ErrorCode, ProtocolError, readInput } from '../../protocol/index.ts';
import type { Engine } from '../engine.ts';
import { Elsewhere, NotHere, ShuttingDown } from '../nodes/elsewhere.ts';
import { askNode, withoutBody } from '../nodes/forward.ts';
import type { ClusterNode } from '../nodes/node.ts';
import type { Session } from '../registry/session.ts';
import { checkSessionId } from '../registry/session-registry.ts';
import { type DecidedBy, type NodeDirectory, type SessionKey, StoreUnavailable } from '../store/store.ts';

/**
 * An operation that only the owner of a session can perform for the application. A command is plain data, so that it can be sent to another node.
 * The owner performs a command with a `requestId` only once, even when the command is sent again because its answer was lost.
 */
export type Command =
  | { do: 'answer'; key: SessionKey; by: DecidedBy; answer: Answer; requestId: string }
  | { do: 'send'; key: SessionKey; message: Record<string, unknown>; requestId: string }
  | { do: 'speak' | 'instruct'; key: SessionKey; text: string; requestId: string }
  | { do: 'delete'; key: SessionKey };

/** The result of a command, as nodes exchange it. */
type Outcome = { result: string | null } | { error: { code: ErrorCode | 'unavailable'; message: string } };

/** The objects through which commands reach the owner of a session. */
export interface CommandsContext {
  engine: Engine;
  node: ClusterNode | null;
  directory: NodeDirectory | null;
  /** The path under which every node mounts the server. */
  basePath: string;
  /** Finds a session in this process or the store. If it does not exist, `open` creates it when `creates` is true, and returns null otherwise. */
  open: (key: SessionKey, creates: boolean) => Promise<Session | null>;
  /** Removes a session; false when it does not exist. */
  remove: (key: SessionKey) => Promise<boolean>;
  /** Whether the server is closing and accepts no more commands. */
  isClosing: () => boolean;
}

/** The path on which a node receives commands of other nodes. */
const COMMANDS_PATH = '/cluster/commands';

/**
 * Performs commands in this process, or on the node that owns the session. Nodes trust each other by the store that they share: a command is written
 * there, and the other node gets only its id, 256 random bits, which no client can guess. The row is removed when the command is done.
 */
export class Commands {
  readonly #context: CommandsContext;

  constructor(context: CommandsContext) {
    this.#context = context;
  }

  /**
   * Performs a command in this process or on the node that owns the session. Resolves with the id of the agent's message that the command causes; null when
   * it causes none. Rejects with the same errors wherever the command is performed.
   */
  async run(command: Command): Promise<string | null> {
    const { node, directory, basePath } = this.#context;
    if (!node || !directory) return this.#perform(command);
    const id = randomBytes(32).toString('hex');
    let isWritten = false;
    const request = new Request(new URL(basePath + COMMANDS_PATH, node.place.address), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    try {
      const outcome = await node.route<Outcome>(
        withoutBody(request),
        async () => this.#outcomeOf(command),
        async (handover, end) => {
          if (!isWritten) await directory.putCommand(id, JSON.stringify(command));
          isWritten = true;
          const text = await askNode(handover, JSON.stringify({ id })).finally(end);
          return text === null ? null : (JSON.parse(text) as Outcome);
        },
      );
      if ('result' in outcome) return outcome.result;
      const { code, message } = outcome.error;
      throw code === 'unavailable' ? new StoreUnavailable(message) : new ProtocolError(code, message);
    } finally {
      if (isWritten) await directory.removeCommand(id).catch(() => undefined);
    }
  }

  /** Performs a command that another node has written to the store. Throws `NotHere` when another node owns the session, or when this server is closing. */
  async runStored(id: string): Promise<Outcome> {
    const { directory, isClosing } = this.#context;
    const stored = /^[0-9a-f]{64}$/.test(id) ? await directory?.findCommand(id) : null;
    if (!stored) throw new ProtocolError('not_found', 'There is no such command.');
    if (isClosing()) throw new NotHere();
    try {
      return await this.#outcomeOf(JSON.parse(stored) as Command);
    } catch (error) {
      throw error instanceof Elsewhere ? new NotHere() : error;
    }
  }

  /**
   * Performs a command on this node and returns its outcome. The errors `moved` and `overloaded` are thrown, because they concern this node and not the
   * command: the sender may send it again.
   */
  async #outcomeOf(command: Command): Promise<Outcome> {
    try {
      return { result: await this.#perform(command) };
    } catch (thrown) {
      if (thrown instanceof StoreUnavailable)
        return { error: { code: 'unavailable', message: thrown.message } };
      if (!(thrown instanceof ProtocolError) || thrown.code === 'moved' || thrown.code === 'overloaded')
        throw thrown;
      return { error: { code: thrown.code, message: thrown.message } };
    }
  }

  async #perform(command: Command): Promise<string | null> {
    const { open, remove, isClosing, engine } = this.#context;
    const { key } = command;
    if (isClosing()) throw new ShuttingDown();
    if (command.do === 'delete') {
      if (!(await remove(key))) throw noSuchSession();
      return null;
    }
    const { limits } = engine.options;
    if (command.do === 'answer') {
      const session = await open(key, false);
      if (!session) throw noSuchSession();
      const { person: user, application } = command.by;
      await session.answerFor({ user, application }, [command.answer], command.requestId);
      return null;
    }
    checkSessionId(key.id, 'id', limits.idLength);
    // Check the message first, so that an invalid message creates no session.
    const message = command.do === 'send' ? readInput([command.message], limits) : null;
    if (message && message.kind !== 'message')
      throw new ProtocolError('bad_request', 'The message must have the role "user".');
    const session = await open(key, true);
    if (!session) throw noSuchSession();
    if (message) return session.sendFor(message, command.requestId);
    return command.do === 'speak'
      ? session.speak(command.text, command.requestId)
      : session.instruct(command.do === 'instruct' ? command.text : '', command.requestId);
  }
}

function noSuchSession(): ProtocolError {
  return new ProtocolError('not_found', 'There is no such session.');
}
