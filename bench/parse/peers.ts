import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import type { Subject } from './bodies.ts';

/** Reads one body through the AI SDK's own provider, over a fetch that answers with it. */
export function peerFor(peer: Subject['peer']): (body: string) => Promise<unknown> {
  let body = '';
  const fetch = async () => new Response(body, { headers: { 'content-type': 'application/json' } });
  const models = {
    openai: () => createOpenAI({ apiKey: 'none', fetch }).chat('gpt-4o'),
    responses: () => createOpenAI({ apiKey: 'none', fetch }).responses('gpt-5'),
    anthropic: () => createAnthropic({ apiKey: 'none', fetch })('claude-sonnet-4-5'),
    google: () => createGoogleGenerativeAI({ apiKey: 'none', fetch })('gemini-2.5-flash'),
    bedrock: () =>
      createAmazonBedrock({ region: 'us-east-1', apiKey: 'none', fetch })(
        'anthropic.claude-sonnet-4-5-20250929-v1:0',
      ),
  };
  const model = models[peer]();
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
  return (text) => {
    body = text;
    return Promise.resolve(model.doGenerate({ prompt }));
  };
}
