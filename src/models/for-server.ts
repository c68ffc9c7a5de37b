export { isLiveOnly, sensesOf } from './capabilities.ts';
export { CONTINUE } from './continue.ts';
export { imageHeader } from './embedded/image-header.ts';
export { instrumentModels } from './instrument-models.ts';
export { noticeOf } from './notice.ts';
export { failedWith, inWords, withoutKeys } from './provider-error.ts';
export type { Patience } from './retry-policy.ts';
