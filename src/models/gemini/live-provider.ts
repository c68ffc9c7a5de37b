import { type BaseLlmConnection, type BaseTool, Gemini, type LlmRequest } from '@google/adk';
import type { GoogleGenAI, LiveConnectConfig } from '@google/genai';
import { LiveConnection, type LiveConnectionOptions } from '../live/connection.ts';
import { seedOf } from '../live/history.ts';
import type {
  CloseReason,
  LiveProvider,
  LiveSetup,
  LiveSocket,
  LiveSocketEvents,
  LiveTraits,
} from '../live/provider.ts';
import type { ModelFailure } from '../provider-error.ts';
import { liveFamilyOf, onVertex } from './families.ts';
import { FrameEncoder } from './frames.ts';
import { liveConfigOf, nonBlockingNames } from './setup.ts';
import { GeminiSocket } from './socket.ts';

/** The instances of Google's client whose service refused a setup that turns voice activity detection off. Later connections of these instances leave it on. */
const REFUSING = new WeakSet<GoogleGenAI>();

/** The close reasons of Gemini. The service cuts a reason after 123 bytes, so each pattern matches words from the beginning of a reason. */
export const CLOSE_REASONS: readonly CloseReason[] = [
  [/default credentials/i, 'stop', 'NO_CREDENTIALS'],
  [/quota|billing|resource.?exhausted/i, 'stop', 'QUOTA'],
  [/api.?key|unregistered caller|unauthenticated|credential/i, 'stop', '401'],
  [/permission|forbidden/i, 'stop', '403'],
  [/is not found|model.{0,80}not found|not supported for bidi/i, 'stop', '404'],
  [/unknown name|cannot find field|is not supported by the model|invalid value at|setup/i, 'stop', 'SETUP'],
  [/^requested entity was not found/i, 'restart', 'INCOMPLETE'],
  [/^the operation was aborted|^operation is not implemented/i, 'retry', 'INCOMPLETE'],
  [/unavailable|overloaded/i, 'retry', '503'],
];

/** Options of a live connection to Gemini. */
export interface GeminiLiveOptions extends LiveConnectionOptions {
  /**
   * Returns whether calls of this tool are non-blocking, which means that the model continues without waiting for the response. Return true for tools that
   * wait for a user or a browser, and with Gemini 3.8 also for tools that may change something. By default tools with `nonBlocking: true` are
   * non-blocking, and with 3.8 also tools without `changesNothing: true`. Families without this choice ignore the option.
   */
  nonBlocking?: (tool: BaseTool) => boolean;
  /** At which length of the session the service drops old turns. With null it drops none, and ends a session that becomes too long. */
  compression?: LiveConnectConfig['contextWindowCompression'] | null;
}

/** Whether a model uses ADK's own live connection, with the defects that `connectGemini` repairs. */
export function keepsStockConnection(model: Gemini): boolean {
  return model.connect === Gemini.prototype.connect;
}

/**
 * Opens a live connection to Gemini. The promise resolves before the socket is open; a later failure of the service ends `receive()` of the connection with
 * an error. The promise rejects when the model cannot hold a conversation, or lacks a built-in tool of the request.
 */
export async function connectGemini(
  model: Gemini,
  request: LlmRequest,
  options: GeminiLiveOptions = {},
): Promise<BaseLlmConnection> {
  const { handle = null } = request.liveConnectConfig.sessionResumption ?? {};
  const provider = new GeminiLiveProvider(
    model.liveApiClient,
    request.model ?? model.model,
    request,
    options,
  );
  return new LiveConnection(provider, { history: request.contents, handle }, options);
}

/** Gemini's live API for one connection: its setup by model family, its traits, and its sockets. */
class GeminiLiveProvider implements LiveProvider {
  readonly closeReasons = CLOSE_REASONS;
  readonly traits: LiveTraits;
  private readonly encoder: FrameEncoder;
  private readonly client: GoogleGenAI;
  private readonly model: string;
  private readonly configOf: (handle: string | undefined) => LiveConnectConfig;
  private readonly announcesHistory: boolean;
  /**
   * Whether the client signals the start and the end of speech. `none`: the setup does not ask for signals, so the service detects speech. `asked`: the
   * setup asks for them, and the service has not answered.
   */
  private signals: 'none' | 'asked' | 'accepted' | 'refused' = 'none';

  constructor(client: GoogleGenAI, model: string, request: LlmRequest, options: GeminiLiveOptions = {}) {
    const known = liveFamilyOf(model);
    const family = client.vertexai ? onVertex(known) : known;
    const nonBlocking = nonBlockingNames(request, family, options.nonBlocking);
    const { compression } = options;
    this.client = client;
    this.model = model;
    this.configOf = (handle) => liveConfigOf(request, { model, family, nonBlocking, handle, compression });
    const config = this.configOf(undefined);
    if (asksForSignals(config)) this.signals = REFUSING.has(client) ? 'refused' : 'asked';
    this.announcesHistory = family.announcesHistory && seedOf(request.contents).length > 0;
    this.encoder = new FrameEncoder({
      family,
      nonBlocking,
      hasIds: !client.vertexai,
      detectsSpeech: () => this.detectsSpeech,
    });
    this.traits = {
      modelVersion: model,
      transcribesOutput:
        config.outputAudioTranscription !== undefined &&
        (config.responseModalities ?? []).every((modality) => modality === 'AUDIO'),
      wholeUtterances: family.wholeUtterances,
      reportsIdle: family.reportsIdle,
      nonBlocking,
      repliesTo: (response) => this.encoder.isAnswered(response),
    };
  }

  open({ handle }: LiveSetup, events: LiveSocketEvents): LiveSocket {
    const config = this.configOf(handle ?? undefined);
    const setup = {
      model: this.model,
      config: this.detectsSpeech ? withoutSignals(config) : config,
      announcesHistory: this.announcesHistory && handle === null,
      reportsIdle: this.traits.reportsIdle,
    };
    return new GeminiSocket(this.client, setup, this.encoder, events);
  }

  onAccepted(): void {
    if (this.signals === 'asked') this.signals = 'accepted';
    if (this.signals === 'refused') REFUSING.add(this.client);
  }

  /**
   * Handles a failed connection. If the service may have refused the setup because it turns voice activity detection off, later setups leave the detection
   * on, and this returns true; otherwise false.
   */
  simplifySetup({ code, message }: ModelFailure): boolean {
    const namesField = /unknown name|invalid value at/i.test(message);
    const isForSignals = code === 'SETUP' && (!namesField || /activity/i.test(message));
    if (this.signals !== 'asked' || !isForSignals) return false;
    this.signals = 'refused';
    return true;
  }

  /** Whether the service detects speech by itself. */
  private get detectsSpeech(): boolean {
    return this.signals === 'none' || this.signals === 'refused';
  }
}

/** Whether a setup turns the service's voice activity detection off, so that the client signals speech. */
function asksForSignals({ realtimeInputConfig }: LiveConnectConfig): boolean {
  return realtimeInputConfig?.automaticActivityDetection?.disabled === true;
}

/** The same setup with voice activity detection by the service. */
function withoutSignals(config: LiveConnectConfig): LiveConnectConfig {
  if (!asksForSignals(config)) return config;
  const { disabled: _, ...automaticActivityDetection } =
    config.realtimeInputConfig?.automaticActivityDetection ?? {};
  return { ...config, realtimeInputConfig: { ...config.realtimeInputConfig, automaticActivityDetection } };
}
