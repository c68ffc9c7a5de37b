import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ChatInit } from 'ai';
import type { Message } from '../../../src/protocol/index.ts';
import type { TestChat } from './chat.ts';

type SvelteChat = new (init: ChatInit<Message>) => TestChat;

const { resolve } = createRequire(import.meta.url);

let loaded: Promise<SvelteChat> | undefined;

/**
 * The `Chat` of `@ai-sdk/svelte`. Its package is exported under the condition `svelte` alone, and has runes that Svelte's compiler must translate: a bundler with
 * the Svelte plugin does both, and this function does the same for one module.
 */
export function svelteChat(): Promise<SvelteChat> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<SvelteChat> {
  const { compileModule } = await import('svelte/compiler');
  const filename = join(dirname(resolve('svelte/package.json')), '../@ai-sdk/svelte/dist/chat.svelte.js');
  const { js } = compileModule(readFileSync(filename, 'utf8'), { filename, generate: 'client' });
  // A module without a file resolves no package names.
  const code = js.code.replaceAll(
    /(from|import) '([^'.][^']*)'/g,
    (_all, word: string, name: string) =>
      `${word} '${import.meta.resolve?.(name) ?? pathToFileURL(resolve(name))}'`,
  );
  const module = (await import(
    /* @vite-ignore */ `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`
  )) as { Chat: SvelteChat };
  return module.Chat;
}
