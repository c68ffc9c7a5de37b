import { randomUUID } from 'node:crypto';
import { FunctionTool, LlmAgent, type NodeContext, RequestInput, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Message } from '../../../../src/protocol/index.ts';
import type { DuologueOptions } from '../../../../src/server/index.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Place, type Row, works } from '../matrix.ts';
import { type Talk, the } from '../talk.ts';

/** The steps of the workflow below after its question was answered, in their order. `act` is a tool of an agent whose model is asked twice. */
const STEPS = ['middle', 'model 1', 'act', 'model 2', 'last'] as const;
type Step = (typeof STEPS)[number];

/** One process: which steps ran in it, and the step that never ends because the process is killed there. */
class Process {
  readonly ran: string[] = [];
  readonly reached: Promise<void>;
  /** Ends the step that hangs. */
  release: () => void = () => undefined;
  #reach: () => void = () => undefined;
  readonly #hangsIn: string | null;

  constructor(hangsIn: string | null) {
    this.#hangsIn = hangsIn;
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  async enter(step: string): Promise<void> {
    this.ran.push(step);
    if (step !== this.#hangsIn) return;
    this.#reach();
    await new Promise<void>((resolve) => {
      this.release = resolve;
    });
  }

  /** An agent whose tool needs a confirmation. */
  agent(): LlmAgent {
    const act = new FunctionTool({
      name: 'act',
      description: 'Acts.',
      requireConfirmation: true,
      execute: async () => {
        await this.enter('act');
        return { acted: true };
      },
    });
    const turns = [call('act', {}, randomUUID()), text('Done.')];
    const model = new ScriptedModel(
      turns.map(
        (turn, index) =>
          async function* (this: void) {
            await enter(`model ${index + 1}`);
            yield turn;
          },
      ),
    );
    const enter = (step: string) => this.enter(step);
    return new LlmAgent({ name: 'banker', model, tools: [act] });
  }

  /** A workflow that asks the user, and whose agent asks for a confirmation. */
  workflow(): Workflow {
    const node = (name: string) =>
      Object.defineProperty(
        async (_: NodeContext, input: unknown) => {
          await this.enter(name);
          return `${name}: ${JSON.stringify(input)}`;
        },
        'name',
        { value: name },
      );
    const ask = async () => {
      await this.enter('ask');
      return new RequestInput({ message: 'Your name?', responseSchema: z.object({ name: z.string() }) });
    };
    return new Workflow({
      name: 'flow',
      edges: [['START', node('first'), ask, node('middle'), this.agent(), node('last')]],
    });
  }
}

/**
 * Has a process killed in a step, or, without one, after the turn. Returns the steps that ran before the kill, and the last message as the next process shows
 * it. No step runs in the next process.
 */
async function killedIn(
  place: Place,
  step: Step | null,
  agentOf: (process: Process) => LlmAgent | Workflow,
  isFirst: boolean,
): Promise<{ message: Message | undefined; ran: string[] }> {
  const optionsOf = (process: Process): Partial<DuologueOptions> => ({
    agent: agentOf(process),
    newId: randomUUID,
  });
  const process = new Process(step);
  const talk = await (isFirst ? place.talk(optionsOf(process)) : place.afterKill(optionsOf(process)));
  const answered = answerAll(talk, String(step));
  if (step === null) await answered;
  else {
    answered.catch(() => undefined);
    await process.reached;
  }
  const ran = [...process.ran];
  const next = new Process(null);
  const { messages, isRunning } = await (await place.afterKill(optionsOf(next))).stored();
  expect([next.ran, isRunning]).toEqual([[], false]);
  process.release();
  return { message: messages.at(-1), ran };
}

/** The user writes, and answers whatever the agent asks. */
async function answerAll(talk: Talk, words: string): Promise<void> {
  let asked = await talk.say(`go to ${words}`);
  if (!asked.some(({ type }) => type === 'tool-approval-request'))
    asked = await talk.output(the(asked, 'tool-input-available'), { name: 'Ann' });
  await talk.decide(the(asked, 'tool-approval-request'), true);
}

const CUT_OFF = { interrupted: true, cutOff: true };
const UNKNOWN =
  'The outcome is unknown: the server stopped while the tool was running. It was not run again.';

/** The errors of the calls of a message. */
function errorsIn(message: Message | undefined): string[] {
  return (message?.parts ?? []).flatMap((part) =>
    'errorText' in part && typeof part.errorText === 'string' ? [part.errorText] : [],
  );
}

/** Processes that are killed after an answer is stored, while something runs. */
export const KILLS: Row[] = [
  works(
    'a kill while nodes of a `Workflow` run after an answer: none runs again, and the message is marked as cut off',
    async (place) => {
      const before = ['first', 'ask'];
      for (const [index, step] of STEPS.entries()) {
        const { message, ran } = await killedIn(place, step, (process) => process.workflow(), index === 0);
        expect(ran).toEqual([...before, ...STEPS.slice(0, index + 1)]);
        expect(message?.metadata).toMatchObject(CUT_OFF);
        expect(errorsIn(message)).toEqual(step === 'act' ? [UNKNOWN] : []);
      }
      const { message, ran } = await killedIn(place, null, (process) => process.workflow(), false);
      expect(ran).toEqual([...before, ...STEPS]);
      expect(message?.metadata).not.toMatchObject({ cutOff: true });
      // A declined question ends the turn in words.
      const options = () => ({ agent: new Process(null).workflow(), newId: randomUUID });
      const talk = await place.afterKill(options());
      await talk.decline(the(await talk.say('go'), 'tool-input-available'), 'no name');
      const { messages } = await (await place.afterKill(options())).stored();
      expect(errorsIn(messages.at(-1))).toEqual(['The user declined to answer: no name']);
      expect(messages.at(-1)?.metadata).not.toMatchObject({ cutOff: true });
    },
  ),
  works(
    'a kill while an approved tool or the model after it runs: neither runs again, and the outcome is unknown',
    async (place) => {
      const acted = await killedIn(place, 'act', (process) => process.agent(), true);
      expect(acted.ran).toEqual(['model 1', 'act']);
      expect(errorsIn(acted.message)).toEqual([UNKNOWN]);
      const answered = await killedIn(place, 'model 2', (process) => process.agent(), false);
      expect(answered.ran).toEqual(['model 1', 'act', 'model 2']);
      expect(errorsIn(answered.message)).toEqual([]);
      expect(answered.message?.metadata).toMatchObject(CUT_OFF);
      const whole = await killedIn(place, null, (process) => process.agent(), false);
      expect(whole.ran).toEqual(['model 1', 'act', 'model 2']);
      expect(whole.message?.metadata).not.toMatchObject({ cutOff: true });
    },
  ),
];
