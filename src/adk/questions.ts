import { type BaseTool, getUserChoiceTool, requestInputTool } from '@google/adk';
import type { Question } from '../protocol/index.ts';
import { toJsonSchema } from './json-schema.ts';

/** The tool name of the calls with which ADK asks the user for input. */
export const REQUEST_INPUT = 'adk_request_input';

type JsonSchema = NonNullable<Question['schema']>;
type Json = NonNullable<Question['payload']>;

/** The question in a call of `requestInputTool` or `getUserChoiceTool`; undefined for any other tool. */
export function questionOf(tool: BaseTool, args: Record<string, unknown>): Question | undefined {
  if ((tool as unknown) === requestInputTool) return inputQuestion(args);
  if ((tool as unknown) !== getUserChoiceTool) return undefined;
  const { options } = args;
  const choices = Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [];
  return { kind: 'answer', schema: { type: 'string', ...(choices.length > 0 ? { enum: choices } : {}) } };
}

/** Whether a tool is one of ADK's own tools for questions: its call is answered by the user, and nothing runs. */
export function isQuestionTool(tool: BaseTool): boolean {
  return (tool as unknown) === requestInputTool || (tool as unknown) === getUserChoiceTool;
}

/** The question that a tool asks when it calls `requestConfirmation`. */
export function confirmationQuestion({ hint, payload }: { hint?: string; payload?: unknown }): Question {
  return {
    kind: 'approve',
    ...(hint ? { message: hint } : {}),
    ...(payload === undefined || payload === null ? {} : { payload: asJson(payload) }),
  };
}

/** Makes the question from the arguments of a call of `adk_request_input`. */
export function inputQuestion(args: Record<string, unknown>): Question {
  const { message, response_schema: schema, payload } = args;
  return {
    kind: 'answer',
    ...(typeof message === 'string' && message !== '' ? { message } : {}),
    ...(isRecord(schema) ? { schema: toJsonSchema(schema) as JsonSchema } : {}),
    ...(payload === undefined || payload === null ? {} : { payload: asJson(payload) }),
  };
}

/** A value as JSON; undefined members, functions and the like are dropped. */
function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? 'null') as Json;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
