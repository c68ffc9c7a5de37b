import type { InferUITools, UIMessage } from 'ai';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { DuologueSseTransport, DuologueTransport, type ExecutorContext } from '../../src/client/index.ts';
import type { Message, MessageMetadata } from '../../src/protocol/index.ts';
import { type PendingApproval, pendingApprovals, type useDuologue } from '../../src/react/index.ts';

// The compiler checks this file (`npm run typecheck`): a wrong type, or a mistake that is not found, is an error there.

const tools = {
  get_weather: defineTool({
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string(), unit: z.enum(['c', 'f']).default('c') }),
    execute: async ({ city, unit }) => {
      expectTypeOf(unit).toEqualTypeOf<'c' | 'f'>();
      return { city, degrees: 21 };
    },
  }),
  pay: defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    output: z.object({ paid: z.boolean() }),
    needsApproval: ({ amount }) => amount > 10,
    onApproved: ({ amount }, { decidedBy }) => {
      expectTypeOf(amount).toEqualTypeOf<number>();
      if ('user' in decidedBy) expectTypeOf(decidedBy.user).toEqualTypeOf<string>();
      else expectTypeOf(decidedBy.person).toEqualTypeOf<string>();
    },
    execute: () => ({ paid: true }),
  }),
  print: defineTool({
    name: 'print',
    description: 'Prints.',
    async *execute(_args, context) {
      context.progress({ pages: 0 });
      yield { pages: 1 };
    },
  }),
  copy: defineTool({
    name: 'copy',
    description: 'Copies.',
    async *execute() {
      yield { copies: 1 };
      return { copies: 2 };
    },
  }),
  get_location: defineTool({
    name: 'get_location',
    description: 'Where the user is.',
    runsOn: 'client',
    output: z.object({ latitude: z.number() }),
  }),
  change_music: defineTool({
    name: 'change_music',
    description: 'Plays music.',
    parameters: z.object({ track: z.number() }),
    runsOn: 'client',
    needsApproval: true,
  }),
  note: defineTool({ name: 'note', description: 'Takes a note.', execute: () => undefined }),
};
type Tools = typeof tools;
const noData = {};

interface Shown {
  get_weather: {
    input: { city: string; unit?: 'c' | 'f' | undefined };
    output: { city: string; degrees: number };
  };
  pay: { input: { amount: number }; output: { paid: boolean } };
  get_location: { input: Record<string, never>; output: { latitude: number } };
  change_music: { input: { track: number }; output: unknown };
  note: { input: Record<string, never>; output: Record<string, never> };
  print: { input: Record<string, never>; output: { pages: number } };
  copy: { input: Record<string, never>; output: { copies: number } };
}

const executors = {
  get_location: () => ({ latitude: 1 }),
  change_music: async ({ track }: { track: number }, { signal }: ExecutorContext) => ({ track, signal }),
};

describe('the types of tools', () => {
  it('come from the schema and from `execute` or `output`, and InferUITools of the AI SDK reads them', () => {
    expectTypeOf<InferUITools<Tools>>().branded.toEqualTypeOf<Shown>();
  });

  it('refuse an `execute` whose output does not fit `output`, and one that misreads its arguments', () => {
    defineTool({
      name: 'pay',
      description: 'Pays.',
      output: z.object({ paid: z.boolean() }),
      // @ts-expect-error paid is no boolean
      execute: () => ({ paid: 'yes' }),
    });
    defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.number() }),
      // @ts-expect-error there is no argument "sum"
      execute: ({ sum }) => sum,
    });
  });

  it('type each part of a message', () => {
    type Part = Message<Tools>['parts'][number];
    type Weather = Extract<Part, { type: 'tool-get_weather'; state: 'output-available' }>;
    expectTypeOf<Weather['output']>().toEqualTypeOf<{ city: string; degrees: number }>();
    expectTypeOf<Weather['input']>().toEqualTypeOf<{ city: string; unit?: 'c' | 'f' | undefined }>();
    expectTypeOf<Message<Tools>['metadata']>().toEqualTypeOf<MessageMetadata | undefined>();
  });

  it('have the type of what a generator yields', () => {
    expectTypeOf<InferUITools<Tools>['print']['output']>().toEqualTypeOf<{ pages: number }>();
    expectTypeOf<InferUITools<Tools>['copy']['output']>().toEqualTypeOf<{ copies: number }>();
    defineTool({
      name: 'bad',
      description: 'Bad.',
      output: z.string(),
      // @ts-expect-error the yielded value does not fit the schema of the output
      async *execute() {
        yield 1;
      },
    });
    defineTool({
      name: 'bad',
      description: 'Bad.',
      output: z.string(),
      // @ts-expect-error the returned value does not fit the schema of the output
      async *execute() {
        yield 'half';
        return 1;
      },
    });
  });

  it('type the executors of a transport: a missing, wrong or superfluous one is an error', () => {
    new DuologueTransport<Message<Tools>>({ url: '/', executors });
    new DuologueSseTransport<Message<Tools>>({ url: '/', executors });
    // @ts-expect-error executors are missing
    new DuologueTransport<Message<Tools>>({ url: '/' });
    new DuologueSseTransport<Message<Tools>>({
      url: '/',
      // @ts-expect-error change_music is missing
      executors: { get_location: executors.get_location },
    });
    new DuologueTransport<Message<Tools>>({
      url: '/',
      // @ts-expect-error latitude is no number
      executors: { ...executors, get_location: () => ({ latitude: '1' }) },
    });
    new DuologueTransport<Message<Tools>>({
      url: '/',
      // @ts-expect-error pay runs on the server
      executors: { get_location: executors.get_location, change_music: executors.change_music, pay: () => 1 },
    });
    new DuologueTransport<Message<Tools>>({
      url: '/',
      executors: {
        ...executors,
        change_music: ({ track }) => {
          expectTypeOf(track).toEqualTypeOf<number>();
        },
      },
    });
  });

  it('ask for no executor where a message does not say where its tools run', () => {
    type Plain = UIMessage<unknown, Record<string, unknown>, InferUITools<Tools>>;
    new DuologueTransport<Plain>({ url: '/' });
    new DuologueTransport<Plain>({ url: '/', executors: { get_location: executors.get_location } });
    // @ts-expect-error latitude is no number
    new DuologueTransport<Plain>({ url: '/', executors: { get_location: () => ({ latitude: '1' }) } });
    new DuologueTransport({ url: '/', executors: { anything: () => 1 } });
    new DuologueTransport({ url: '/' });
  });

  it('type the data parts that the application declared, on the page and in the context of a tool', () => {
    const data = { chart: z.object({ title: z.string(), values: z.array(z.number()).default([]) }) };
    type Part = Message<Tools, typeof data>['parts'][number];
    type Chart = Extract<Part, { type: 'data-chart' }>;
    expectTypeOf<Chart['data']>().toEqualTypeOf<{ title: string; values: number[] }>();
    expectTypeOf<Extract<Message<Tools>['parts'][number], { type: 'data-chart' }>>().toBeNever();
    type Image = Extract<Part, { type: 'data-image' }>;
    expectTypeOf<Image['data']>().toEqualTypeOf<{ mediaType: string; data: string }>();
    type Weather = Extract<Part, { type: 'tool-get_weather'; state: 'output-available' }>;
    expectTypeOf<Weather['output']>().toEqualTypeOf<{ city: string; degrees: number }>();
    type Hook = typeof useDuologue<Tools, typeof data>;
    expectTypeOf<ReturnType<Hook>['messages']>().toEqualTypeOf<Message<Tools, typeof data>[]>();
    type Sent = Parameters<NonNullable<Parameters<Hook>[0]['onData']>>[0];
    expectTypeOf<Extract<Sent, { type: 'data-chart' }>['data']>().toEqualTypeOf<Chart['data']>();
    expectTypeOf<Extract<Sent, { type: 'data-transcript' }>['data']['text']>().toEqualTypeOf<string>();
    new DuologueTransport<Message<Tools, typeof data>>({ url: '/', executors });
    const plot = defineTool({
      name: 'plot',
      description: 'Plots.',
      data,
      parameters: z.object({ title: z.string() }),
      execute: ({ title }, context) => {
        context.data('chart', { title }, { id: 'one' });
        // @ts-expect-error no data of that name is declared
        context.data('graph', { title });
        // @ts-expect-error the title is no number
        context.data('chart', { title: 1 });
        return { title };
      },
    });
    expectTypeOf<InferUITools<{ plot: typeof plot }>['plot']['output']>().toEqualTypeOf<{ title: string }>();
    defineTool({
      name: 'plot',
      description: 'Plots.',
      async *execute(_args, context) {
        context.data('anything', 1);
        yield 1;
      },
    });
    defineTool({
      name: 'plot',
      description: 'Plots.',
      data,
      async *execute(_args, context) {
        context.data('chart', { title: 'x' });
        // @ts-expect-error no data of that name is declared
        context.data('graph', 1);
        yield 1;
      },
    });
  });

  it('leave room for metadata fields of the application', () => {
    type Own = { page?: string };
    type Hook = typeof useDuologue<Tools, typeof noData, Own>;
    expectTypeOf<Message<Tools, typeof noData, Own>['metadata']>().toEqualTypeOf<
      (MessageMetadata & Own) | undefined
    >();
    expectTypeOf<ReturnType<Hook>['messages']>().toEqualTypeOf<Message<Tools, typeof noData, Own>[]>();
  });

  it('type the hook: its tools, messages and approvals', () => {
    type Hook = typeof useDuologue<Tools>;
    type Options = Parameters<Hook>[0];
    expectTypeOf({ url: '/', mode: 'sse' as const, tools: executors }).toExtend<Options>();
    expectTypeOf({ url: '/', mode: 'sse' as const }).not.toExtend<Options>();
    expectTypeOf({ url: '/', mode: 'sse' as const }).toExtend<Parameters<typeof useDuologue>[0]>();
    expectTypeOf<ReturnType<Hook>['messages']>().toEqualTypeOf<Message<Tools>[]>();
    type Payment = Extract<ReturnType<Hook>['approvals'][number], { toolName: 'pay' }>;
    expectTypeOf<Payment['input']>().toEqualTypeOf<{ amount: number }>();
    expectTypeOf<PendingApproval<Tools>['toolName']>().toEqualTypeOf<keyof Tools>();
    expectTypeOf<PendingApproval['input']>().toBeUnknown();
    expectTypeOf(pendingApprovals<Tools>).returns.toEqualTypeOf<PendingApproval<Tools>[]>();
  });
});
