export { EMBEDDED_MODEL, EmbeddedModel, type EmbeddedModelOptions } from './embedded-model.ts';
export type { DecodeImage, Pixels } from './image/pixels.ts';
export type { Reply, Rule, RuleContext, ToolRequest } from './rule.ts';
