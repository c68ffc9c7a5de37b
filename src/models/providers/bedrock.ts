import { at, type Environment, maker, needed, type Provider } from './provider.ts';

/** Amazon Bedrock. AWS credentials are often set for other purposes, so credentials alone do not select Bedrock. */
export const bedrock: Provider = {
  model: 'anthropic.claude-sonnet-5-5',
  recipe(env, name) {
    const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || needed(env, name, 'AWS_REGION');
    const access = awsAccess(env, name);
    const settings = {
      region,
      ...access,
      ...at(env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME || env.AWS_ENDPOINT_URL),
    };
    return {
      package: '@ai-sdk/amazon-bedrock',
      version: '4.0.186',
      secrets: Object.values(access),
      make: (loaded, id) => maker(loaded, 'createAmazonBedrock')(settings)(id),
    };
  },
};

/** The credentials: a Bedrock API key, or an AWS access key with its secret. Throws when neither is set. */
function awsAccess(env: Environment, model: string): Record<string, string> {
  if (env.AWS_BEARER_TOKEN_BEDROCK) return { apiKey: env.AWS_BEARER_TOKEN_BEDROCK };
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw new Error(
      `The model ${model} needs AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, to be set.`,
    );
  }
  const sessionToken = env.AWS_SESSION_TOKEN;
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}
