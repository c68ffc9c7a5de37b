import type { Event } from '@google/adk';
import { usageOf as parseUsage } from '../parse/usage.ts';
import type { Citation, TokenUsage } from '../protocol/index.ts';

/** ADK's token counts, whichever model they come from, in one meaning. */
export function usageOf(raw: object): TokenUsage | null {
  const usage = parseUsage(raw);
  if (!usage) return null;
  const { input, output, cacheRead, cacheWrite, reasoning, total, modality } = usage;
  const audio = {
    input: modality?.input.audio ?? null,
    output: modality?.output.audio ?? null,
    cacheRead: modality?.cacheRead?.audio ?? null,
  };
  const hasAudio = Object.values(audio).some((count) => count !== null);
  return { input, output, cacheRead, cacheWrite, reasoning, total, ...(hasAudio ? { audio } : {}) };
}

/** What the model calls of these events used together, as far as they tell; null when none does. */
export function usageIn(events: readonly Event[]): TokenUsage | null {
  let usage: TokenUsage | null = null;
  for (const { usageMetadata, partial } of events)
    if (usageMetadata && !partial) usage = addUsage(usage, usageOf(usageMetadata));
  return usage;
}

type Count = number | null;

/** The counts of two model calls together; null only where neither has a count. */
export function addUsage(a: TokenUsage | null, b: TokenUsage | null): TokenUsage | null {
  if (!a || !b) return a ?? b;
  const audio = a.audio && b.audio ? addAudio(a.audio, b.audio) : (a.audio ?? b.audio);
  return {
    input: plus(a.input, b.input),
    output: plus(a.output, b.output),
    cacheRead: plus(a.cacheRead, b.cacheRead),
    cacheWrite: plus(a.cacheWrite, b.cacheWrite),
    reasoning: plus(a.reasoning, b.reasoning),
    total: plus(a.total, b.total),
    ...(audio ? { audio } : {}),
  };
}

type AudioTokens = NonNullable<TokenUsage['audio']>;

function addAudio(a: AudioTokens, b: AudioTokens): AudioTokens {
  return {
    input: plus(a.input, b.input),
    output: plus(a.output, b.output),
    cacheRead: plus(a.cacheRead, b.cacheRead),
  };
}

function plus(a: Count, b: Count): Count {
  if (a === null) return b;
  return b === null ? a : a + b;
}

/** The web pages an answer rests on: grounding first, then citations. */
export function sourcesOf(event: Event): { url: string; title?: string }[] {
  const sources: { url: string; title?: string }[] = [];
  const add = (url: string | undefined, title: string | undefined) => {
    if (url && /^https?:/.test(url)) sources.push({ url, ...(title ? { title } : {}) });
  };
  for (const chunk of event.groundingMetadata?.groundingChunks ?? []) {
    add(chunk.web?.uri ?? chunk.retrievedContext?.uri, chunk.web?.title ?? chunk.retrievedContext?.title);
  }
  for (const citation of event.citationMetadata?.citations ?? []) add(citation.uri, citation.title);
  return sources;
}

/** Citations as the finish of a message carries them. */
export function citationsOf(metadata: NonNullable<Event['citationMetadata']>): Citation[] {
  return (metadata.citations ?? []).map((citation) => ({
    startIndex: citation.startIndex ?? null,
    endIndex: citation.endIndex ?? null,
    uri: citation.uri ?? null,
    title: citation.title ?? null,
    license: citation.license ?? null,
  }));
}
