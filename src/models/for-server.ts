export { instrumentModels } from './adk-safe.ts';
export { capabilitiesOf, checkModelsInTools, checkModelsOfTool, isLiveOnly } from './capabilities.ts';
export { CONTINUE, noticeOf } from './prompt-texts.ts';
export { failedWith, oneLine, withoutKeys } from './provider-error.ts';
export type { RetryPolicy } from './retry-policy.ts';
