import { type Block, BlockDecoder, KEEP_ALIVE } from '../protocol/codec.ts';

/**
 * Reads the blocks of a response as they come, as long as it goes on and someone wants more. `isPresent`: there is no more at this
 * moment, as the server's sign of life tells.
 */
export async function readBlocks(
  response: Response,
  hear: (blocks: Block[], isPresent: boolean) => boolean,
): Promise<void> {
  const body = response.body?.getReader();
  const text = new TextDecoder();
  const decoder = new BlockDecoder();
  for (;;) {
    const piece = await body?.read().catch(() => null);
    if (!piece?.value) return;
    const words = text.decode(piece.value, { stream: true });
    if (!hear(decoder.push(words), words.endsWith(KEEP_ALIVE))) return body?.cancel();
  }
}
