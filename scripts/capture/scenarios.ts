/** A tool, in JSON schema. */
export interface Tool {
  name: string;
  description: string;
  parameters: { type: 'object'; properties: Record<string, unknown>; required: string[] };
}

/** One conversation to capture, in a format independent of the provider. */
export interface Scenario {
  name: string;
  description: string;
  scenario: string;
  system?: string;
  /** The user messages, turn by turn; the last answer is captured. */
  turns: readonly string[];
  tools?: readonly Tool[];
  /** Asks the model for JSON of this schema. */
  schema?: Record<string, unknown>;
  reasoning?: boolean;
  stream?: boolean;
}

function tool(name: string, description: string, ...fields: string[]): Tool {
  const properties = Object.fromEntries(fields.map((field) => [field, { type: 'string' }]));
  return { name, description, parameters: { type: 'object', properties, required: fields } };
}

/** The scenarios that run on every provider. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'multi_turn',
    description: 'Multi-turn customer support conversation',
    scenario: 'Customer support over several turns',
    system: 'You work in the support of an online bookshop. Be brief.',
    turns: [
      'My order 4711 has not arrived.',
      'I ordered it two weeks ago, to Oslo.',
      'Then please send it again. What happens if the first one turns up?',
    ],
  },
  {
    name: 'parallel_tools',
    description: 'Parallel function calling with three tools',
    scenario: 'One question that needs three tools at once',
    turns: [
      'For Oslo, tell me at once: the weather, the local time, and the news headlines. Call all three tools in parallel.',
    ],
    tools: [
      tool('get_weather', 'Current weather of a city', 'city'),
      tool('get_time', 'Local time of a city', 'city'),
      tool('get_news', 'News headlines of a city', 'city'),
    ],
  },
  {
    name: 'structured',
    description: 'Structured output by JSON schema',
    scenario: 'Extraction into a fixed shape',
    turns: ['Extract the person: "Kari Nordmann, 42, is a carpenter in Bergen."'],
    schema: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        age: { type: 'integer' },
        job: { type: 'string' },
        city: { type: 'string' },
      },
      required: ['name', 'age', 'job', 'city'],
      additionalProperties: false,
    },
  },
  {
    name: 'reasoning',
    description: 'A reasoning model, with its reasoning tokens',
    scenario: 'A puzzle that takes thought',
    turns: [
      'A bat and a ball cost 1.10 together. The bat costs 1.00 more than the ball. What does the ball cost?',
    ],
    reasoning: true,
  },
  {
    name: 'streaming',
    description: 'A streamed answer, event by event',
    scenario: 'Streaming to a person',
    turns: ['Count from one to five, in words.'],
    stream: true,
  },
];
