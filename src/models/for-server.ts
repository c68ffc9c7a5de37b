export { CONTINUE } from './continue.ts';
export { imageHeader } from './embedded/image-header.ts';
export { instrumentModels } from './instrument-models.ts';
export { noticeOf } from './notice.ts';
export type { Patience } from './patience.ts';
export { failedWith } from './provider-error.ts';
export { isLiveOnly, sensesOf } from './senses.ts';
export { inWords, withoutKeys } from './words.ts';
