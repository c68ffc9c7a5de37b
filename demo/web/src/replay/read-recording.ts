import type { Recording } from '../wire/recording.ts';
import type { WireEvent } from '../wire/wire-event.ts';
import { type Fixture, isFixture, recordingOfFixture } from './fixture.ts';

/** Why a file is no recording. */
export type Problem = 'json' | 'format' | 'version' | 'events';

/** A file could not be read as a recording. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`The file is no recording: ${problem}`);
    this.problem = problem;
  }
}

/** Reads a recording of this page, or a fixture of the protocol. Throws a `RecordingError` for any other text. */
export function readRecording(text: string): Recording {
  const value = fieldsOf(parse(text));
  if (isFixture(value)) return recordingOfFixture(value as unknown as Fixture);
  if (value.format !== 'duologue-recording') throw new RecordingError('format');
  if (value.version !== 1) throw new RecordingError('version');
  const { events, messages, sessionId, mode } = value;
  if (!Array.isArray(events) || !events.every(isWireEvent)) throw new RecordingError('events');
  return {
    format: 'duologue-recording',
    version: 1,
    mode: mode === 'sse' ? 'sse' : 'bidi',
    sessionId: typeof sessionId === 'string' && sessionId !== '' ? sessionId : 'replay',
    recordedAt: String(value.recordedAt ?? ''),
    isCut: value.isCut === true,
    events,
    messages: Array.isArray(messages) ? (messages as Recording['messages']) : [],
  };
}

function isWireEvent(value: unknown): value is WireEvent {
  const event = fieldsOf(value);
  if (typeof event.at !== 'number' || typeof event.channel !== 'number') return false;
  const hasDirection = event.direction === 'in' || event.direction === 'out';
  switch (event.type) {
    case 'request':
      return typeof event.method === 'string' && typeof event.path === 'string';
    case 'response':
      return typeof event.status === 'number' && typeof event.contentType === 'string';
    case 'open':
      return typeof event.path === 'string';
    case 'text':
      return hasDirection && typeof event.text === 'string';
    case 'binary':
      return hasDirection && typeof event.size === 'number';
    case 'close':
      return hasDirection && typeof event.reason === 'string';
    default:
      return false;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RecordingError('json');
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
