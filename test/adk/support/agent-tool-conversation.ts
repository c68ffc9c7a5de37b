import { AgentTool, type BaseTool, type BaseToolset, LlmAgent } from '@google/adk';
import type { Chunk } from '../../../src/protocol/index.ts';
import type { DuologueOptions } from '../../../src/server/index.ts';
import { call, ScriptedModel, text } from '../../support/scripted-model.ts';
import { Place } from './matrix.ts';
import { sqliteDatabase } from './sqlite-database.ts';
import type { Talk } from './talk.ts';

/** The ways in which the agent of a conversation runs. */
export const WAYS = {
  SSE: { mode: 'SSE' },
  'BIDI live': { mode: 'BIDI', driver: 'live' },
  'BIDI turn by turn': { mode: 'BIDI', driver: 'turn' },
} as const;
export type Way = (typeof WAYS)[keyof typeof WAYS];
/** Whether the process is killed at each pause. */
export const PROCESSES = ['in one process', 'with a new process at each pause'] as const;

const description = 'Does it.';

/** A conversation whose process is replaced at each pause, or never. */
export class Conversation {
  readonly chunks: Chunk[] = [];
  readonly #place: Place;
  readonly #options: Partial<DuologueOptions>;
  readonly #isKilled: boolean;
  #talk: Talk | null = null;

  constructor(way: Way, agent: LlmAgent, isKilled: boolean, options: Partial<DuologueOptions> = {}) {
    this.#place = new Place(way.mode, sqliteDatabase());
    this.#options = { agent, ...('driver' in way ? { driver: way.driver } : {}), ...options };
    this.#isKilled = isKilled;
  }

  async say(words: string): Promise<Chunk[]> {
    this.#talk ??= await this.#place.talk(this.#options);
    return this.#keep(await this.#talk.say(words));
  }

  async answer(give: (talk: Talk) => Promise<Chunk[]>): Promise<Chunk[]> {
    if (this.#isKilled) this.#talk = await this.#place.afterKill(this.#options);
    return this.#keep(await give(this.#talk as Talk));
  }

  #keep(chunks: Chunk[]): Chunk[] {
    this.chunks.push(...chunks);
    return chunks;
  }
}

/** An agent that uses another one as a tool. `give`: how the agent gets the tool. */
export function tree(
  tools: BaseTool[],
  turns: ConstructorParameters<typeof ScriptedModel>[0],
  after: typeof turns = [[text('Well.')], [text('And now?')]],
  give: (make: () => BaseTool) => BaseTool | BaseToolset = (make) => make(),
) {
  const inner = new ScriptedModel(turns);
  const banker = new LlmAgent({ name: 'banker', description, model: inner, tools });
  const outer = new ScriptedModel([[call('banker', { request: 'pay' }, 'banker-1')], ...(after ?? [])]);
  const agent = new LlmAgent({
    name: 'assistant',
    model: outer,
    tools: [give(() => new AgentTool({ agent: banker }))],
  });
  return { agent, inner, outer };
}

/** The last call of a tool. */
export const input = (chunks: readonly Chunk[], name: string) => {
  const found = chunks.findLast(
    (chunk): chunk is Extract<Chunk, { type: 'tool-input-available' }> =>
      chunk.type === 'tool-input-available' && chunk.toolName === name,
  );
  if (!found) throw new Error(`No call of ${name} in: ${JSON.stringify(chunks)}`);
  return found;
};
/** The outcomes of calls, by call id. */
export const outputs = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) =>
    chunk.type === 'tool-output-available'
      ? [{ [chunk.toolCallId]: chunk.output }]
      : chunk.type === 'tool-output-error'
        ? [{ [chunk.toolCallId]: chunk.errorText }]
        : [],
  );
/** The function responses that a model got last, by call id. */
export const responses = (model: ScriptedModel) =>
  model.lastContents.flatMap(({ parts }) =>
    (parts ?? []).flatMap(({ functionResponse: given }) =>
      given ? [{ [given.id ?? '']: given.response }] : [],
    ),
  );
