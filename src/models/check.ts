import type { BaseLlm } from '@google/adk';
import { failureOf, ModelFailure } from './provider-error.ts';

/** How long the model may take to answer the test question. */
const TIMEOUT_MS = 10_000;

/** What is wrong with the model, by the code of the `ModelFailure`. */
const WORDS: Readonly<Record<string, string>> = {
  '401': 'its provider does not accept the key (401)',
  '403': 'its provider does not let this key use it (403)',
  '404': 'its provider does not know it (404)',
  QUOTA: 'the quota at its provider is used up',
  NO_KEY: 'no key for its provider is set',
  NO_CREDENTIALS:
    'there are no Google Cloud credentials: run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS',
};

/**
 * Asks a model one short question, to find out whether its key and its name are right before a user needs it. Returns a sentence that says what is wrong
 * when the key or the credentials are missing or refused, the name is unknown, the quota is used up, or the provider refuses the request. Returns null when
 * the model answers, and after a failure that may pass, such as an unreachable provider.
 */
export async function checkModel(
  model: BaseLlm,
  options: { name?: string; timeoutMs?: number } = {},
): Promise<string | null> {
  const { name = model.model, timeoutMs = TIMEOUT_MS } = options;
  const enough = new AbortController();
  const signal = AbortSignal.any([enough.signal, AbortSignal.timeout(timeoutMs)]);
  const question = {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    config: { maxOutputTokens: 16 },
    toolsDict: {},
    liveConnectConfig: {},
  };
  try {
    for await (const _ of model.generateContentAsync(question, true, signal)) break;
    return null;
  } catch (error) {
    const failure = failureOf(error);
    if (!(failure instanceof ModelFailure)) return null;
    const words =
      WORDS[failure.code] ?? (failure.code === '400' ? 'its provider refuses to answer (400)' : null);
    return words && `The model ${name} does not work: ${words}. The error: ${failure.message}`;
  } finally {
    enough.abort();
  }
}
