import type {
  Content,
  FunctionResponse,
  FunctionResponseScheduling,
  LiveClientContent,
  LiveSendRealtimeInputParameters,
} from '@google/genai';
import { exhaustive } from '../../protocol/exhaustive.ts';
import type { LiveInput } from '../live/provider.ts';
import { readableLive } from '../text-files.ts';
import type { LiveFamily } from './families.ts';

/** One frame to the server. */
export type Frame =
  | { clientContent: LiveClientContent }
  | { realtimeInput: LiveSendRealtimeInputParameters }
  | { functionResponses: FunctionResponse[] };

/** The facts about a session on which the encoding of its frames depends. */
export interface FrameOptions {
  family: LiveFamily;
  /** Whether the service gives ids to calls. If not, responses must have no ids either. */
  hasIds: boolean;
  /** The tools whose calls the model does not wait for. */
  nonBlocking: ReadonlySet<string>;
  /** Returns whether the service detects speech itself. It is a function because this is known only after the service has accepted the setup. */
  detectsSpeech: () => boolean;
}

/** Encodes inputs as the model family accepts them. It remembers whether the user is speaking. */
export class FrameEncoder {
  private readonly options: FrameOptions;
  private isSpeaking = false;

  constructor(options: FrameOptions) {
    this.options = options;
  }

  /** Returns the frame for an input; null when the service has no frame for it, or needs none now. */
  encode(input: LiveInput): Frame | null {
    const { family } = this.options;
    switch (input.type) {
      case 'message':
        return this.message(input.content);
      case 'history':
        return content(input.turns, family.announcesHistory || input.startsTurn);
      case 'note':
        return content([input.content], input.startsTurn);
      case 'responses':
        return { functionResponses: input.responses.map((response) => this.response(response)) };
      case 'media': {
        const { mimeType = '' } = input.blob;
        if (mimeType.startsWith('audio/')) return { realtimeInput: { audio: input.blob } };
        return mimeType.startsWith('image/') ? { realtimeInput: { video: input.blob } } : null;
      }
      case 'activity':
        return this.activity(input.activity, input.isBusy);
      default:
        return exhaustive(input);
    }
  }

  /** Whether the model speaks after it gets this response. */
  isAnswered(given: FunctionResponse): boolean {
    const { response, scheduling } = this.response(given);
    return response?.interrupted !== true && scheduling !== 'SILENT';
  }

  private message(given: Content): Frame {
    const message = readableLive(given);
    const parts = message.parts ?? [];
    const [first] = parts;
    const isRealtime = this.options.family.typesInRealtime && parts.length === 1;
    if (isRealtime && first?.text) return { realtimeInput: { text: first.text } };
    return content([{ role: 'user', ...message }], true);
  }

  /** A response as the family accepts it: with its id, and with the `scheduling` that says when the model speaks about it. */
  private response(given: FunctionResponse): FunctionResponse {
    const { family, hasIds, nonBlocking } = this.options;
    const { scheduling, id, ...rest } = given;
    const plain = id === undefined || !hasIds ? rest : { id, ...rest };
    if (!family.acceptsScheduling || !nonBlocking.has(given.name ?? '')) return plain;
    const when = given.response?.interrupted === true ? 'SILENT' : 'WHEN_IDLE';
    return { ...plain, scheduling: scheduling ?? (when as FunctionResponseScheduling) };
  }

  private activity(activity: 'start' | 'end', isBusy: boolean): Frame | null {
    const { family, detectsSpeech } = this.options;
    if (!detectsSpeech()) {
      const isSpeaking = activity === 'start';
      // The signal was already sent, e.g. when a user who is speaking interrupts: do not send it twice.
      if (isSpeaking === this.isSpeaking) return null;
      this.isSpeaking = isSpeaking;
      return { realtimeInput: isSpeaking ? { activityStart: {} } : { activityEnd: {} } };
    }
    if (activity === 'end') return { realtimeInput: { audioStreamEnd: true } };
    // A service that detects speech itself accepts no `activityStart`. Empty content interrupts older families. Newer families stop only at the next text
    // or speech, and Duologue's server discards their output until then.
    return !family.typesInRealtime && isBusy ? { clientContent: { turnComplete: false } } : null;
  }
}

function content(turns: Content[], turnComplete: boolean): Frame {
  return { clientContent: { turns, turnComplete } };
}
