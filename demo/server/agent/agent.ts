import { type BaseLlm, LlmAgent } from '@google/adk';
import { locationTool, musicTool } from './browser-tools.ts';
import { paymentTool } from './payment.ts';
import { type WeatherOptions, weatherTool } from './weather.ts';

const INSTRUCTION = `You are a friendly assistant with four tools. Answer in the language of the user, briefly.
Call the tool whenever a request fits one; never only describe what you would do:
- get_weather: the weather of a city (give the city in English).
- process_payment: sends money. The user is asked to approve each payment by the system, so do not ask yourself. Several payments in one request: call the tool once for each, together.
- change_bgm: changes the background music in the browser to track 1 or 2.
- get_location: where the user is. The system asks the user first.
Speak about results, refusals and failures exactly as they were. If a call was denied, accept it and do not call the tool again.`;

/** The demo's agent: four tools, of the four kinds there are. */
export function createAgent(options: { model: BaseLlm; weather: WeatherOptions }): LlmAgent {
  return new LlmAgent({
    name: 'assistant',
    description: 'Tells the weather, pays, changes the music, finds the user.',
    model: options.model,
    instruction: () => INSTRUCTION,
    tools: [weatherTool(options.weather), paymentTool(), musicTool(), locationTool()],
  });
}
