import type { Source } from '../source.ts';
import { CALLS, CARD, deltaBlock, END, OUTPUTS, START } from './blocks.ts';

/** A whole answer as ready blocks, without any agent. */
export async function talk(source: Source, question: string, write: (block: string) => void): Promise<void> {
  write(START);
  for (let step = 0; ; step++) {
    for await (const delta of source.step(question, step)) write(deltaBlock(delta));
    if (!source.hasNextStep(question, step)) break;
    write(CALLS);
    write(OUTPUTS);
  }
  write(CARD);
  write(END);
}
