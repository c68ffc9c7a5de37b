import { TOOLS } from './registry.ts';
import type { DemoTool } from './tool.ts';

/** Loads the server part of every tool in the registry. */
export function loadTools(): Promise<DemoTool[]> {
  return Promise.all(
    TOOLS.map(async (name) => {
      const module = (await import(`./${name}/server.ts`)) as { default: DemoTool };
      return module.default;
    }),
  );
}
