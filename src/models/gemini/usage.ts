import type { GenerateContentResponseUsageMetadata, UsageMetadata } from '@google/genai';

/** Live usage has its own names for what the model wrote; the usual ones are added. Its total leaves out the thoughts. */
export function usageOf(usage: UsageMetadata): GenerateContentResponseUsageMetadata {
  const { responseTokenCount, responseTokensDetails, promptTokenCount, totalTokenCount, thoughtsTokenCount } =
    usage;
  const isShort =
    thoughtsTokenCount !== undefined &&
    totalTokenCount === (promptTokenCount ?? 0) + (responseTokenCount ?? 0);
  return {
    ...usage,
    ...(responseTokenCount === undefined ? {} : { candidatesTokenCount: responseTokenCount }),
    ...(responseTokensDetails === undefined ? {} : { candidatesTokensDetails: responseTokensDetails }),
    ...(isShort ? { totalTokenCount: (totalTokenCount ?? 0) + (thoughtsTokenCount ?? 0) } : {}),
  } as GenerateContentResponseUsageMetadata;
}
