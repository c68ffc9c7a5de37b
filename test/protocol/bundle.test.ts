import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { describe, expect, test } from 'vitest';

const entry = fileURLToPath(new URL('../../src/protocol/index.ts', import.meta.url));

/** The modules, and the text, of a bundle for browsers that uses these names of the protocol. */
async function bundle(names: string): Promise<{ modules: string[]; code: string }> {
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'program',
        enforce: 'pre',
        resolveId: (id) => (id.endsWith('/program') ? '\0program' : null),
        load: (id) => (id === '\0program' ? `export { ${names} } from ${JSON.stringify(entry)};` : null),
      },
    ],
    build: {
      write: false,
      minify: true,
      lib: { entry: 'program', formats: ['es'], fileName: 'program' },
    },
  });
  const [output] = [result].flat();
  if (!output || !('output' in output)) throw new Error('nothing was built');
  const chunks = output.output.filter((file) => file.type === 'chunk');
  return {
    modules: chunks.flatMap((chunk) =>
      Object.entries(chunk.modules).flatMap(([id, module]) => (module.renderedLength > 0 ? [id] : [])),
    ),
    code: chunks.map((chunk) => chunk.code).join(''),
  };
}

describe('a bundle for a browser', () => {
  test('holds no zod when it only speaks and listens', async () => {
    const { modules, code } = await bundle(
      'BlockDecoder, MessageFold, answersIn, waitingFor, encodeFrame, encodeBinary, decodeBinary, parseChunkId, ERRORS, SUBPROTOCOL, KEY_SUBPROTOCOL',
    );
    expect(modules.filter((id) => id.includes('node_modules'))).toEqual([]);
    expect(modules.filter((id) => id.endsWith('frames.ts'))).toEqual([]);
    expect(code.length).toBeGreaterThan(1_000);
    expect(code.length).toBeLessThan(12_000);
  });

  test('would hold zod if it read the frames of clients', async () => {
    const { modules } = await bundle('readFrame');
    expect(modules.some((id) => id.includes('node_modules/zod/'))).toBe(true);
  });
});
