import type { Executors } from 'duologue/client';
import { CONFIRMATION_TOOL } from 'duologue/protocol';
import type { ReactNode } from 'react';
import { TOOLS } from '../../../tools/registry.ts';
import type { Messages } from '../i18n/en.ts';
import type { Language } from '../i18n/language.tsx';
import type { PageTool } from './page-tool.ts';

const folders = import.meta.glob<PageTool>('../../../tools/*/web/index.tsx', {
  eager: true,
  import: 'default',
});

/** The page part of every tool in the registry, in the order of the registry. */
export const PAGE_TOOLS: readonly PageTool[] = TOOLS.flatMap(
  (name) => folders[`../../../tools/${name}/web/index.tsx`] ?? [],
);

/** The tool that the agent calls by this name, if the page knows it. */
export function pageTool(name: string): PageTool | undefined {
  return PAGE_TOOLS.find((tool) => tool.name === name);
}

/** The title of a tool on the page; its own name if the page does not know the tool. */
export function toolTitle(name: string, messages: Messages, language: Language): string {
  if (name === CONFIRMATION_TOOL) return messages.tools.confirmation;
  return pageTool(name)?.words[language].title ?? name;
}

/** The browser tools of this page: their functions, and their controls for the header. */
export interface RunningTools {
  executors: Executors;
  controls: ReactNode;
  /** Tells the tools whether the user or the agent is speaking. */
  duck: (isSpeech: boolean) => void;
}

/** Starts the tools that run in the browser. */
export function startTools(): RunningTools {
  const running = PAGE_TOOLS.flatMap(({ name, start }) => (start ? [{ name, ...start() }] : []));
  return {
    executors: Object.fromEntries(running.map(({ name, execute }) => [name, execute])),
    controls: running.map(({ name, Control }) => (Control ? <Control key={name} /> : null)),
    duck: (isSpeech) => {
      for (const tool of running) tool.duck?.(isSpeech);
    },
  };
}
