import type { BaseTool } from '@google/adk';
import { z } from 'zod';
import { defineTool } from '../../../src/adk/index.ts';
import type { Journal } from './journal.ts';

/** The four kinds of tool, by name. */
export const TOOLS = {
  look_up: { runsOn: 'server', asks: false },
  pay: { runsOn: 'server', asks: true },
  play: { runsOn: 'client', asks: false },
  locate: { runsOn: 'client', asks: true },
} as const;

export type ToolName = keyof typeof TOOLS;

interface Running {
  name: string;
  callId: string;
  end: (how: 'returns' | 'throws') => void;
}

/** Tools that run until the test ends them. */
export class Workbench {
  /** All tool runs. */
  readonly runs: { name: string; callId: string }[] = [];
  readonly running: Running[] = [];
  private readonly journal: Journal;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  /** The tools, for one server. */
  tools(): BaseTool[] {
    const parameters = z.object({ n: z.number() });
    const execute =
      (name: string) =>
      (_args: { n: number }, { functionCallId: callId = '' }: { functionCallId?: string }) =>
        this.begin(name, callId);
    return [
      defineTool({ name: 'look_up', description: 'Looks up', parameters, execute: execute('look_up') }),
      defineTool({
        name: 'pay',
        description: 'Pays',
        parameters,
        needsApproval: true,
        execute: execute('pay'),
      }),
      defineTool({ name: 'play', description: 'Plays', parameters, runsOn: 'client' }),
      defineTool({
        name: 'locate',
        description: 'Locates',
        parameters,
        runsOn: 'client',
        needsApproval: true,
      }),
    ];
  }

  /** The process has ended, and its tool runs with it. */
  clear(): void {
    this.running.length = 0;
  }

  private begin(name: string, callId: string): Promise<unknown> {
    this.runs.push({ name, callId });
    this.journal.add({ kind: 'tool', event: 'starts', name, callId });
    return new Promise((resolve, reject) => {
      const running: Running = {
        name,
        callId,
        end: (event) => {
          this.running.splice(this.running.indexOf(running), 1);
          this.journal.add({ kind: 'tool', event, name, callId });
          if (event === 'returns') resolve({ done: callId });
          else reject(new Error(`${name} failed`));
        },
      };
      this.running.push(running);
    });
  }
}
