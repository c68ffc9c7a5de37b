import { type BaseTool, FunctionTool } from '@google/adk';
import { defineTool } from '../../../src/adk/index.ts';
import type { Chunk } from '../../../src/protocol/index.ts';
import { type Talk, the } from './talk.ts';

const name = 'act';
const description = 'A tool.';

/** Each kind of tool whose calls wait. All have the name `act`. */
export const WAITING_KINDS: readonly {
  /** Makes the tool; `run` is its function, where it runs on the server. */
  tool: (run: () => string) => BaseTool;
  /** Answers a call of the tool. */
  answer: (talk: Talk, asked: Chunk[]) => Promise<Chunk[]>;
  /** What a call waits for, in the words of refusals. */
  whom: string;
  /** The same, in the words of refusals inside an agent that is used as a tool. */
  inside: string;
}[] = [
  {
    tool: (execute) => defineTool({ name, description, needsApproval: true, execute }),
    answer: (talk, asked) => talk.decide(the(asked, 'tool-approval-request'), true),
    whom: 'an approval',
    inside: 'asks for an approval',
  },
  {
    tool: (execute) => new FunctionTool({ name, description, requireConfirmation: true, execute }),
    answer: (talk, asked) => talk.decide(the(asked, 'tool-approval-request'), true),
    whom: 'an approval',
    inside: 'asks for an approval',
  },
  {
    tool: () => defineTool({ name, description, runsOn: 'client' }),
    answer: (talk, asked) => {
      const made = asked.findLast((chunk) => chunk.type === 'tool-input-available');
      return talk.output(made as Parameters<Talk['output']>[0], 'done');
    },
    whom: 'an answer from outside',
    inside: 'waits for an answer from outside',
  },
];
