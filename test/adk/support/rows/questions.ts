import { RequestInput, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { type Row, refused } from '../matrix.ts';

/** What agents and nodes ask the user. */
export const QUESTIONS: Row[] = [
  refused('`RequestInput` in a node', 'refused: the turn ends with an error', async (place) => {
    const errors: string[] = [];
    const logger = {
      info: () => undefined,
      warn: () => undefined,
      error: (message: string, fields?: object) => void errors.push(`${message} ${JSON.stringify(fields)}`),
    };
    const ask = () => new RequestInput({ message: 'Your name?' });
    const agent = new Workflow({ name: 'flow', edges: [['START', ask]] });
    const { say } = await place.talk({ agent, logger });
    expect((await say('go')).map(({ type }) => type)).toContain('error');
    expect(errors.join()).toContain('asks for input with RequestInput, which is not supported');
  }),
];
