import type { InferUITools, ToolSet, UIMessage, UIMessageChunk, UITools } from 'ai';
import type { z } from 'zod/v4';
import type { DataSchemas, OwnDataParts } from './own-data.ts';
import type { DATA } from './wire/data.ts';
import type {
  acceptedRequest,
  messageMetadata,
  modelCapabilities,
  question,
  toolFacts,
  waitingCall,
} from './wire/values.ts';

/**
 * The TypeScript type of a value that a zod schema of `wire/` declares. An optional field may be absent, but is never undefined. A
 * `UIMessage` becomes our `Message`: the schema cannot name that type, because `Message` is itself derived from the schemas.
 */
type Exact<T> = T extends readonly (infer Item)[]
  ? Exact<Item>[]
  : T extends UIMessage
    ? Message
    : T extends object
      ? { [K in keyof T]: undefined extends T[K] ? Exact<Exclude<T[K], undefined>> : Exact<T[K]> }
      : T;

/** The facts about the tool of a call, as `toolMetadata` has them: where the tool runs (server or client), whether the user is asked first, and more. */
export type ToolFacts = Exact<z.infer<typeof toolFacts>>;

/** A question to the user: its kind, its text, and the schema of the answer. */
export type Question = Exact<z.infer<typeof question>>;

/** A question as a client gets it in `toolMetadata`, with the time at which the question expires. */
export type AskedQuestion = NonNullable<ToolFacts['question']>;

/** What the server writes into the metadata of an assistant message. */
export type MessageMetadata = Exact<z.infer<typeof messageMetadata>>;

/**
 * Token counts of a message. `input` includes `cacheRead` and `cacheWrite`, and `output` includes `reasoning`. A count is null where the
 * model reports none and the other counts do not give it: without a reported `total`, it is the sum of `input` and `output`.
 */
export type TokenUsage = NonNullable<MessageMetadata['usage']>;

/** A part of the answer's text that the model attributes to a source. */
export type Citation = NonNullable<MessageMetadata['citations']>[number];

/** A request that the server accepted; `messageId` is the id of the message in which the agent answers the request. */
export type AcceptedRequest = Exact<z.infer<typeof acceptedRequest>>;

/** A call that waits for the user or for a client. */
export type WaitingAnswer = z.infer<typeof waitingCall>;

/** What a model accepts and produces besides text. */
export type SessionCapabilities = z.infer<typeof modelCapabilities>;

/** The data of each `data-*` chunk, by its name without `data-`. */
export type DataParts = { [Name in keyof typeof DATA]: Exact<z.infer<(typeof DATA)[Name]['fields']>> };

/** The data of `data-session`, the first chunk on a connection. */
export type SessionInfo = DataParts['session'];

/** Why the server asks the model again. */
export type WaitingReason = DataParts['waiting']['reason'];

/** Tools by name. A tool comes from `defineTool` or from the AI SDK. */
export type ToolRecord = ToolSet;

/**
 * The types that the tools of a record have in the parts of a message: `InferUITools` of the AI SDK, and for each tool of `defineTool` also `runsOn`. For the
 * general type `ToolRecord`, a part may show any tool.
 */
export type MessageTools<TOOLS extends ToolRecord> = string extends keyof TOOLS
  ? UITools
  : {
      [Name in keyof TOOLS & string]: InferUITools<TOOLS>[Name] &
        (TOOLS[Name] extends { readonly runsOn: infer RunsOn } ? { runsOn: RunsOn } : unknown);
    };

/**
 * A chat message as the AI SDK keeps it, with our metadata and data parts. `Message<typeof tools>` types the parts of these tools, and
 * `Message<typeof tools, typeof data>` also the data parts that the application declared. `METADATA` are the metadata fields of the application.
 */
export type Message<
  TOOLS extends ToolRecord = ToolRecord,
  SCHEMAS extends DataSchemas = DataSchemas,
  METADATA = unknown,
> = UIMessage<MessageMetadata & METADATA, DataParts & OwnDataParts<SCHEMAS>, MessageTools<TOOLS>>;

/** One piece of the UI message stream. */
export type Chunk = UIMessageChunk<MessageMetadata, DataParts>;

/** One part of a message. */
export type MessagePart = Message['parts'][number];

/** The error text of a denied call, with the user's reason when there is one. */
export function denialText(reason?: string): string {
  return reason ? `User denied the tool call: ${reason}` : 'User denied the tool call';
}

/** The error text of a call that the user did not decide in time. */
export const APPROVAL_TIMED_OUT = 'Approval request timed out';

/** The error text of a question that the user did not answer in time. */
export const QUESTION_TIMED_OUT = 'The question was not answered in time';

/** The error text of a question that the user declined, with the user's reason when there is one. */
export function declinedText(reason?: string): string {
  return reason ? `The user declined to answer: ${reason}` : 'The user declined to answer';
}

/** The error text of a call for which the browser sent no output in time. */
export function outputTimedOut(toolName: string): string {
  return `Timeout waiting for ${toolName} result`;
}

/** The error text of a call whose server process died while the tool ran. */
export const OUTCOME_UNKNOWN =
  'The outcome is unknown: the server stopped while the tool was running. It was not run again.';

/** The error text of a call whose approver is no longer signed in. */
export const SIGNED_OUT = 'The person who approved is no longer signed in';

/** The error text of a server tool that took too long. */
export function toolTimedOut(toolName: string): string {
  return `${toolName} did not finish in time. The outcome is unknown.`;
}

/**
 * The error text of a call whose changes were discarded, because another call changed the same data while the tool ran. Files that the tool saved are the
 * exception: they are kept, and are shown after the error (S12b).
 */
export function stateConflict(toolName: string): string {
  return `${toolName} ran, but another call had changed the same data: nothing of it was kept`;
}

/** The error text of a call that the model withdrew. */
export const CANCELLED = 'Cancelled by the agent';

/** The error text of a call that a newer user message superseded. */
export const SUPERSEDED = 'Superseded by a newer message';

/** The error text of a call that the user interrupted. */
export const INTERRUPTED = 'Interrupted by the user';

/** The error text of a call whose arguments are broken or cut off. */
export const ARGUMENTS_UNREADABLE = 'The arguments of the call could not be read';

/**
 * The name of ADK's confirmation tool. With the server option `confirmations: 'tool'`, each confirmation is a call of this tool instead of an
 * approval request.
 */
export const CONFIRMATION_TOOL = 'adk_request_confirmation';
