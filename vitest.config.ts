import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    alias: [
      { find: /^duologue\/server\/(node|hono|express|next)$/, replacement: new URL('./src/server/use/', import.meta.url).pathname + '$1.ts' },
      { find: /^duologue\/parse\/(cost|otel)$/, replacement: new URL('./src/parse/', import.meta.url).pathname + '$1.ts' },
      { find: /^duologue\/([a-z]+)$/, replacement: new URL('./src/', import.meta.url).pathname + '$1/index.ts' },
    ],
  },
  test: {
    include: ['test/**/*.test.{ts,tsx}', 'demo/**/*.test.{ts,tsx}'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
