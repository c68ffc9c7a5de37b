import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const server = process.env.DUOLOGUE_URL ?? 'http://localhost:3000';
const routes = ['/stream', '/sessions', '/approvals', '/health', '/login'];

export default defineConfig({
  plugins: [react(), tailwind()],
  build: { target: 'es2022', sourcemap: false, manifest: true },
  server: {
    proxy: {
      ...Object.fromEntries(routes.map((route) => [route, { target: server }])),
      '/live': { target: server.replace(/^http/, 'ws'), ws: true },
    },
  },
});
