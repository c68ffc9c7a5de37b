import { setTimeout as sleep } from 'node:timers/promises';
import { BaseLlm, type BaseLlmConnection, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import { createDuologue } from 'duologue/server';
import { type Served, serve } from 'duologue/server/node';
import { webApp } from '../../demo/server/web.ts';

/** The interval at which the model emits all deltas that are due. */
const TICK_MS = 12;
const WORDS =
  'the agent asks before it acts and says what it did in plain words so that people can follow it'.split(' ');

/** Markdown with that many words, one per delta: headings, paragraphs, emphasis, lists and code, over and over. */
function markdownPieces(words: number): string[] {
  return Array.from({ length: words }, (_, index) => {
    const word = WORDS[index % WORDS.length] ?? '';
    const place = index % 160;
    if (place === 0) return `\n\n## Part ${index / 160 + 1}\n\n${word} `;
    if (place === 80 || place === 90 || place === 100) return `\n- ${word} `;
    if (place === 110) return `\n\n\`\`\`ts\nconst ${word} = ${index};\n`;
    if (place === 120) return `\n\`\`\`\n\n${word} `;
    if (place % 40 === 0) return `\n\n${word} `;
    return place % 17 === 0 ? `**${word}** ` : `${word} `;
  });
}

/** Answers "<words> <milliseconds>" with that many deltas within that time. */
class Writer extends BaseLlm {
  constructor() {
    super({ model: 'bench' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const asked = contents.at(-1)?.parts?.find(({ text }) => text)?.text ?? '';
    const [words = 0, ms = 0] = asked.split(' ').map(Number);
    const pieces = markdownPieces(words);
    const began = performance.now();
    for (let sent = 0; sent < pieces.length; ) {
      await sleep(TICK_MS);
      const due = Math.min(pieces.length, Math.ceil(((performance.now() - began) / ms) * pieces.length));
      for (const text of pieces.slice(sent, due))
        yield { content: { role: 'model', parts: [{ text }] }, partial: true };
      sent = due;
    }
    yield { content: { role: 'model', parts: [{ text: pieces.join('') }] }, partial: false };
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error('The model has no live connection.');
  }
}

/** Serves the page and our server with a scripted model, for the stock `useChat` client and for ours. */
export function startSource(folder: string): Promise<Served> {
  const agent = new LlmAgent({ name: 'assistant', model: new Writer() });
  return serve(createDuologue({ agent, rateLimit: false }), {
    port: 0,
    quiet: true,
    fallback: webApp(folder),
  });
}
