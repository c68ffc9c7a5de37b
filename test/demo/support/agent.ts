import type { BaseLlm, LlmAgent } from '@google/adk';
import { createAgent } from '../../../demo/server/agent.ts';
import { SAMPLE_TEXTS } from '../../../demo/server/sample-texts.ts';
import { loadTools } from '../../../demo/tools/load.ts';
import { type WeatherOptions, weatherTool } from '../../../demo/tools/weather/definition.ts';

const tools = await loadTools();

/** The rules that the demo gives to the embedded model. */
export const rules = [...tools.flatMap((tool) => tool.rules), ...SAMPLE_TEXTS];

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
