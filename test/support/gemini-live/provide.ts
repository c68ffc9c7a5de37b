import { type BaseTool, Gemini, LlmAgent } from '@google/adk';
import { chooseModel, pairOf } from '../../../src/models/index.ts';
import type { DuologueOptions } from '../../../src/server/index.ts';
import { demoAgent } from '../../demo/support/agent.ts';
import { fourTools } from '../demo-tools.ts';
import { type Provided, provide } from '../providers/play.ts';
import type { FakeGeminiLive } from './fake-gemini-live.ts';

/** The families that everything is tried on. */
export const FAMILIES = [
  { name: '3.8', model: 'gemini-3.8-live' },
  { name: '3.8 extended thinking', model: 'gemini-3.8-live-extended-thinking' },
  { name: '2.5 on Vertex', model: 'gemini-live-2.5-flash-native-audio', isVertex: true },
] as const;

/** The model that a fake's environment chooses, on the fake's time. */
async function liveModel(fake: FakeGeminiLive) {
  const { turn, live } = await chooseModel(fake.environment);
  Object.assign(live, { live: { timer: fake.timer, ping: null, random: () => 0, setupTimeoutMs: 50_000 } });
  if (live instanceof Gemini && live.liveApiClient.vertexai) {
    // Google Cloud is not asked who this is.
    Object.assign(live.liveApiClient.live, { auth: { addAuthHeaders: async () => undefined } });
  }
  return pairOf(turn, live);
}

/** The demo's agent on a fake of Gemini Live. */
export async function provideLive(
  fake: FakeGeminiLive,
  options: Partial<DuologueOptions> = {},
): Promise<Provided> {
  const model = await liveModel(fake);
  return provide(fake.http, { ...options, agent: demoAgent({ model, dataDir: '/nonexistent' }) });
}

/** A server with a payment that asks, a tool that does not, and whatever else is given, and what the two did. */
export async function provideTools(
  fake: FakeGeminiLive,
  options: Partial<DuologueOptions> = {},
  more: BaseTool[] = [],
): Promise<Provided & { ran: string[] }> {
  const ran: string[] = [];
  const { payment, weather } = fourTools(ran);
  const model = await liveModel(fake);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [payment, weather, ...more] });
  return { ...(await provide(fake.http, { ...options, agent })), ran };
}
