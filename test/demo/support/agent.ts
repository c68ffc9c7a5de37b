import type { BaseLlm, LlmAgent } from '@google/adk';
import { createAgent } from '../../../demo/server/agent.ts';
import { loadTools } from '../../../demo/tools/load.ts';
import { type WeatherOptions, weatherTool } from '../../../demo/tools/weather/definition.ts';

const tools = await loadTools();

/** What the embedded model knows of the demo's tools. */
export const rules = tools.flatMap((tool) => tool.rules);

/** The demo's agent; the weather may come from elsewhere than the environment says. */
export function demoAgent(options: {
  model: BaseLlm;
  dataDir: string;
  weather?: Partial<WeatherOptions> | undefined;
}): LlmAgent {
  const { model, dataDir, weather } = options;
  const own = tools.map((tool) =>
    weather !== undefined && tool.instruction.startsWith('get_weather')
      ? { ...tool, define: () => weatherTool({ cacheDir: dataDir, ...weather }) }
      : tool,
  );
  return createAgent({ model, tools: own, surroundings: { env: {}, dataDir } });
}
