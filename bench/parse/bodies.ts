import { readFileSync } from 'node:fs';

const FIXTURES = new URL('../../fixtures/responses/', import.meta.url);

type Json = Record<string, unknown>;

function load(name: string): Json & { response: unknown } {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FIXTURES), 'utf8'));
}

/** Stretches the visible texts of a body until it has about the wanted size. */
function stretch(value: unknown, by: number): unknown {
  if (Array.isArray(value)) return value.map((entry) => stretch(entry, by));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isText = typeof inner === 'string' && (key === 'text' || key === 'content' || key === 'thinking');
      return [key, isText && inner !== '' ? inner + ' and so on'.repeat(by) : stretch(inner, by)];
    }),
  );
}

function sized(name: string, bytes: number): string {
  const { response } = load(name);
  let text = JSON.stringify(response);
  for (let by = 1; text.length < bytes && by < 500; by++) text = JSON.stringify(stretch(response, by));
  return text;
}

/** One API, its bodies as text, and its stream as events. */
export interface Subject {
  name: string;
  peer: 'openai' | 'responses' | 'anthropic' | 'google' | 'bedrock';
  bodies: string[];
  stream: unknown[];
  /** Which event of the stream is repeated to make it longer: one with a piece of text. */
  repeat: number;
}

/** The measured APIs. */
export const SUBJECTS: readonly Subject[] = [
  {
    name: 'openai chat',
    peer: 'openai',
    bodies: ['openai_chat_completion', 'openai_tool_calls', 'openai_with_reasoning'].map((name) =>
      sized(name, 693),
    ),
    stream: load('openai_chat_stream').response as unknown[],
    repeat: 2,
  },
  {
    name: 'openai responses',
    peer: 'responses',
    bodies: ['openai_responses_text', 'openai_responses_stream'].map((name) =>
      name.endsWith('stream') ? stretchFinal(2400) : sized(name, 2400),
    ),
    stream: load('openai_responses_stream').response as unknown[],
    repeat: 3,
  },
  {
    name: 'anthropic',
    peer: 'anthropic',
    bodies: ['anthropic_text', 'anthropic_tool_use', 'anthropic_thinking', 'anthropic_cache'].map((name) =>
      sized(name, 681),
    ),
    stream: load('anthropic_stream').response as unknown[],
    repeat: 8,
  },
  {
    name: 'bedrock converse',
    peer: 'bedrock',
    bodies: ['bedrock_converse', 'bedrock_converse_tool_use'].map((name) => sized(name, 452)),
    stream: load('bedrock_converse_stream').response as unknown[],
    repeat: 2,
  },
  {
    name: 'gemini',
    peer: 'google',
    bodies: ['gemini_text', 'gemini_function_call', 'gemini_thinking'].map((name) => sized(name, 1500)),
    stream: load('gemini_array_stream').response as unknown[],
    repeat: 0,
  },
];

function stretchFinal(bytes: number): string {
  const events = load('openai_responses_stream').response as { response?: unknown }[];
  const final = events.at(-1)?.response;
  let text = JSON.stringify(final);
  for (let by = 1; text.length < bytes; by++) text = JSON.stringify(stretch(final, by));
  return text;
}

/** A subject's stream at any length. */
export function longStream({ stream, repeat }: Subject, length: number): unknown[] {
  const more = Array.from({ length: Math.max(0, length - stream.length) }, () => stream[repeat]);
  return [...stream.slice(0, repeat), ...more, ...stream.slice(repeat)];
}
