import type {
  Blob,
  Content,
  FunctionResponse,
  FunctionResponseScheduling,
  LiveClientContent,
  LiveSendRealtimeInputParameters,
} from '@google/genai';
import type { LiveFamily } from './families.ts';

/** What goes to the server, in one frame. */
export type Frame =
  | { clientContent: LiveClientContent }
  | { realtimeInput: LiveSendRealtimeInputParameters }
  | { functionResponses: FunctionResponse[] };

/** What the person says in words, as the family takes it. */
export function frameOfContent(content: Content, { typesInRealtime }: LiveFamily): Frame {
  const parts = content.parts ?? [];
  const [first] = parts;
  if (typesInRealtime && parts.length === 1 && first?.text) return { realtimeInput: { text: first.text } };
  return { clientContent: { turns: [{ role: 'user', ...content }], turnComplete: true } };
}

/** Sound or a picture; null for anything else, which the client does not take. */
export function frameOfMedia(blob: Blob): Frame | null {
  const { mimeType = '' } = blob;
  if (mimeType.startsWith('audio/')) return { realtimeInput: { audio: blob } };
  return mimeType.startsWith('image/') ? { realtimeInput: { video: blob } } : null;
}

/** What is known when a response to a call is sent. */
export interface ResponseOptions {
  family: LiveFamily;
  /** Whether calls have ids: otherwise responses must have none. */
  hasIds: boolean;
  /** The tools whose calls go on beside the conversation. */
  nonBlocking: ReadonlySet<string>;
}

/** A response as the family takes it: with its id, and with when it is spoken of. */
export function responseFor(response: FunctionResponse, options: ResponseOptions): FunctionResponse {
  const { scheduling, id, ...rest } = response;
  const plain = id === undefined || !options.hasIds ? rest : { id, ...rest };
  if (!options.family.takesScheduling || !options.nonBlocking.has(response.name ?? '')) return plain;
  const when = response.response?.interrupted === true ? 'SILENT' : 'WHEN_IDLE';
  return { ...plain, scheduling: scheduling ?? (when as FunctionResponseScheduling) };
}

/** Whether a model that gets a response says something to it. */
export function isSpokenOf({ response, scheduling }: FunctionResponse): boolean {
  return response?.interrupted !== true && scheduling !== 'SILENT';
}
