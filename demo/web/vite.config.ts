import { fileURLToPath } from 'node:url';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const server = process.env.DUOLOGUE_URL ?? 'http://localhost:3000';
const routes = ['/stream', '/sessions', '/approvals', '/health', '/login', '/voice'];

export default defineConfig({
  plugins: [react(), tailwind()],
  resolve: {
    alias: [
      { find: /^zod\/v3$/, replacement: fileURLToPath(new URL('zod-v3.ts', import.meta.url)) },
      {
        find: /^\.\.?\/(core\/)?to-json-schema\.js$/,
        replacement: fileURLToPath(new URL('zod-json-schema.ts', import.meta.url)),
      },
    ],
  },
  build: {
    target: 'es2022',
    sourcemap: false,
    manifest: true,
    rolldownOptions: {
      output: {
        // Libraries change less often than the app. In files of their own they stay in the browser's cache.
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\//, priority: 2 },
            // Small modules that the first paint needs. They compress better as one file.
            {
              name: 'base',
              test: /\/src\/(i18n\/(en|language|format)|storage)|lucide-react\/dist\/esm\/\w+\.|@radix-ui\/react-(slot|primitive|compose-refs|context|use-|presence|id|portal|dismissable-layer|popper|arrow)|@radix-ui\/primitive|@floating-ui/,
            },
            { name: 'chat', test: /node_modules\/(ai|@ai-sdk|zod)\//, priority: 1 },
          ],
        },
      },
    },
  },
  server: {
    proxy: {
      ...Object.fromEntries(routes.map((route) => [route, { target: server }])),
      '/live': { target: server.replace(/^http/, 'ws'), ws: true },
    },
  },
});
