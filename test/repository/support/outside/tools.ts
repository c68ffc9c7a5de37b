/** The tools of a user that has the packed library: everything that a definition may say, and everything that a context has. */
import type { LlmAgent } from '@google/adk';
import { type CallDecider, type DecidedCall, defineTool, type ToolContext } from 'duologue/adk';
import { z } from 'zod';

export const data = {
  chart: z.object({ title: z.string(), values: z.array(z.number()) }),
  step: z.string(),
};

/** What the callbacks of decisions got. */
export const decisions: string[] = [];
const nameOf = (by: CallDecider): string => ('user' in by ? by.user : `${by.application} for ${by.person}`);
const tell = (what: string, { user, decidedBy, reason }: DecidedCall): void => {
  decisions.push(`${nameOf(decidedBy)} ${what} ${user}: ${reason ?? 'no reason'}`);
};

/** A helper of the user's own, which takes the context that any tool gets. */
function whoAsks(context: ToolContext<typeof data>): string {
  const { user, decidedBy, request, metadata } = context;
  const language = request?.headers['accept-language'] ?? 'none';
  return [user, decidedBy ? nameOf(decidedBy) : 'unasked', language, request?.body.shop, metadata.page].join(
    ' ',
  );
}

export const tools = {
  pay: defineTool({
    name: 'pay',
    description: 'Pays a bill.',
    parameters: z.object({ amount: z.number(), to: z.string().default('Ann') }),
    output: z.object({ receipt: z.string() }),
    needsApproval: ({ amount }) => {
      if (amount > 1000) return { type: 'denied', reason: 'The limit is 1000 EUR.' };
      return amount > 20 ? 'user-approval' : 'not-applicable';
    },
    approvalMessage: ({ amount, to }) => `Pay ${amount} EUR to ${to}?`,
    approvalTimeoutMs: 60_000,
    timeoutMs: 5_000,
    onApproved: (_args, decided) => tell('lets', decided),
    onDenied: async (_args, decided) => tell('stops', decided),
    execute: ({ amount, to }) => ({ receipt: `${amount} to ${to}` }),
  }),
  print: defineTool({
    name: 'print',
    description: 'Prints a document.',
    parameters: z.object({ pages: z.number() }),
    concurrent: true,
    async *execute({ pages }, { abortSignal }) {
      for (let printed = 1; printed <= pages && !abortSignal?.aborted; printed++) yield { printed };
      return { printed: pages };
    },
  }),
  scan: defineTool({
    name: 'scan',
    description: 'Scans a document.',
    timeoutMs: 5_000,
    execute: (_args, { abortSignal }) =>
      new Promise<string>((resolve) => abortSignal?.addEventListener('abort', () => resolve('too late'))),
  }),
  plot: defineTool({
    name: 'plot',
    description: 'Draws the sales.',
    data,
    execute: async (_args, context) => {
      context.progress({ by: 'progress' });
      context.data('step', 'reading', { transient: true });
      context.data('chart', { title: 'Sales', values: [3] }, { id: 'sales' });
      context.data('chart', { title: 'Sales', values: [3, 1] }, { id: 'sales' });
      // @ts-expect-error: the chart has numbers.
      const wrong = () => context.data('chart', { title: 'Sales', values: ['3'] });
      // @ts-expect-error: no option declares this name.
      const unknown = () => context.data('table', {});
      context.setMessageMetadata({ drawn: { unsent: [wrong, unknown].length } });
      return { by: whoAsks(context) };
    },
  }),
  report: defineTool({
    name: 'report',
    description: 'Writes a report.',
    execute: async (_args, context) => {
      const bytes = Buffer.from('month,sales\nmay,12\n').toString('base64');
      const version = await context.saveArtifact('report.csv', {
        inlineData: { mimeType: 'text/csv', data: bytes },
      });
      return { version, all: await context.listArtifacts() };
    },
  }),
  get_location: defineTool({
    name: 'get_location',
    description: 'Where the user is.',
    runsOn: 'client',
    output: z.object({ latitude: z.number() }),
  }),
  play: defineTool({
    name: 'play',
    description: 'Plays music.',
    parameters: z.object({ track: z.number() }),
    runsOn: 'client',
    needsApproval: true,
    optimistic: ({ track }) => ({ playing: track }),
  }),
};

/** The tools as an agent takes them. */
export const all: NonNullable<LlmAgent['tools']> = Object.values(tools);
