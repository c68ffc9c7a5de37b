import type { LlmRequest } from '@google/adk';
import type { EmbeddedModelOptions } from '../../../src/models/index.ts';
import { answered, called, model, ask as say, type TextLog, user } from '../../models/embedded/talk.ts';
import { rules } from '../support/agent.ts';

export { answered, called, model, type TextLog, user };

type Content = LlmRequest['contents'][number];

const ALL_TOOLS = ['get_weather', 'process_payment', 'change_bgm', 'get_location'];

/** Asks the embedded model once, with the rules of the demo's tools. */
export function ask(
  contents: Content[] | string,
  tools: readonly string[] = ALL_TOOLS,
  options: EmbeddedModelOptions = {},
): Promise<TextLog> {
  return say(contents, tools, { rules, ...options });
}

/** A conversation of messages only: the model's own words are put in between as it says them. */
export async function converse(...messages: string[]): Promise<TextLog> {
  const contents: Content[] = [];
  let texts: TextLog = { thought: '', text: '', calls: [] };
  for (const message of messages) {
    contents.push(user(message));
    texts = await ask(contents);
    contents.push(texts.calls.length > 0 ? called(...texts.calls) : model(texts.text));
    if (texts.calls.length > 0) {
      contents.push(
        answered(
          ...texts.calls.map(([name, args]): [string, Record<string, unknown>] => [
            name,
            { success: true, ...args },
          ]),
        ),
      );
      if (message !== messages.at(-1)) contents.push(model((await ask(contents)).text));
    }
  }
  return texts;
}
