import type { Content, FunctionResponse } from '@google/genai';
import type {
  LiveInput,
  LiveMessage,
  LiveProvider,
  LiveSetup,
  LiveSocket,
  LiveSocketEvents,
  SocketClose,
} from '../../../../src/models/live/provider.ts';

/** An event of a live API in the style of OpenAI Realtime, in either direction. */
export interface RealtimeEvent {
  type: string;
  [field: string]: unknown;
}

/** Maps an event of the server. An event that says nothing to ADK is an empty message. */
function readEvent(event: RealtimeEvent): LiveMessage {
  const text = String(event.delta ?? event.transcript ?? '');
  switch (event.type) {
    case 'response.output_audio.delta':
      return { output: { parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: text } }] } };
    case 'response.output_audio_transcript.delta':
      return { output: { modelTranscript: { text } } };
    case 'response.output_audio_transcript.done':
      return { output: { modelTranscript: { finished: true } } };
    case 'conversation.item.input_audio_transcription.completed':
      return { output: { userTranscript: { text, finished: true } } };
    case 'input_audio_buffer.speech_started':
      return { output: { isInterrupted: true } };
    case 'response.function_call_arguments.done': {
      const args = JSON.parse(String(event.arguments)) as Record<string, unknown>;
      return { calls: [{ id: String(event.call_id), name: String(event.name), args }] };
    }
    case 'response.done': {
      const { status, usage } = event.response as {
        status: string;
        usage: { input_tokens: number; output_tokens: number };
      };
      return {
        usage: {
          promptTokenCount: usage.input_tokens,
          candidatesTokenCount: usage.output_tokens,
        } as NonNullable<LiveMessage['usage']>,
        output: { turnEnd: status === 'failed' ? { error: 'FAILED' } : {} },
      };
    }
    default:
      return {};
  }
}

/** The events for an input. */
function eventsFor(input: LiveInput): RealtimeEvent[] {
  const answer = { type: 'response.create' };
  switch (input.type) {
    case 'message':
      return [...items([input.content]), answer];
    case 'history':
      return [...items(input.turns), ...(input.startsTurn ? [answer] : [])];
    case 'note':
      return [...items([input.content]), ...(input.startsTurn ? [answer] : [])];
    case 'responses':
      return [...input.responses.map(outputOf), answer];
    case 'media':
      return [{ type: 'input_audio_buffer.append', audio: input.blob.data }];
    case 'activity':
      if (input.activity === 'end') return [{ type: 'input_audio_buffer.commit' }, answer];
      return input.isBusy ? [{ type: 'response.cancel' }] : [];
  }
}

function items(contents: Content[]): RealtimeEvent[] {
  return contents.map(({ role, parts = [] }) => ({
    type: 'conversation.item.create',
    item: {
      type: 'message',
      role: role === 'model' ? 'assistant' : 'user',
      content: parts.map(({ text }) => ({ type: role === 'model' ? 'output_text' : 'input_text', text })),
    },
  }));
}

function outputOf({ id, response }: FunctionResponse): RealtimeEvent {
  const item = { type: 'function_call_output', call_id: id, output: JSON.stringify(response) };
  return { type: 'conversation.item.create', item };
}

/** A socket whose server is the test. */
export class RealtimeSocket implements LiveSocket {
  readonly isPaused = false;
  readonly sent: RealtimeEvent[] = [];
  isClosed = false;
  private readonly events: LiveSocketEvents;

  constructor(events: LiveSocketEvents) {
    this.events = events;
  }

  send(input: LiveInput): void {
    this.sent.push(...eventsFor(input));
  }
  pause(): void {}
  resume(): void {}
  ping(): void {
    this.events.onPong();
  }
  close(): void {
    this.isClosed = true;
  }

  /** The server says something. */
  receive(...events: RealtimeEvent[]): void {
    for (const event of events) {
      if (event.type === 'session.updated') this.events.onOpen();
      else this.events.onMessage(readEvent(event));
    }
  }

  /** The server closes the socket. */
  lose(close: SocketClose): void {
    this.events.onClose(close);
  }
}

/** The provider: its facts, and its sockets. */
export class RealtimeProvider implements LiveProvider {
  readonly sockets: RealtimeSocket[] = [];
  readonly closeReasons = [[/insufficient_quota/, 'stop', 'QUOTA']] as const;
  readonly traits = {
    modelVersion: 'gpt-realtime',
    transcribesOutput: true,
    wholeUtterances: true,
    reportsIdle: false,
    nonBlocking: new Set<string>(),
    repliesTo: () => true,
  };

  open(_setup: LiveSetup, events: LiveSocketEvents): RealtimeSocket {
    const socket = new RealtimeSocket(events);
    this.sockets.push(socket);
    return socket;
  }
}
