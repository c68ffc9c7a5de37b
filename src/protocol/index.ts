export * from './chunks.ts';
export * from './codec.ts';
export * from './errors.ts';
export * from './fold.ts';
export * from './frames.ts';
export * from './grammar.ts';
export * from './read.ts';
export * from './tool-call.ts';
