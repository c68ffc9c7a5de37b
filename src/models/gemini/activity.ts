import type { LiveConnectConfig } from '@google/genai';
import type { ModelFailure } from '../provider-error.ts';
import type { LiveFamily } from './families.ts';
import type { Frame } from './frames.ts';

/** Whether a setup leaves it to the person to say when they speak. */
export function asksForSignals({ realtimeInputConfig }: LiveConnectConfig): boolean {
  return realtimeInputConfig?.automaticActivityDetection?.disabled === true;
}

/** The same setup for a server that finds out by itself. */
export function withoutSignals(config: LiveConnectConfig): LiveConnectConfig {
  if (!asksForSignals(config)) return config;
  const { disabled: _, ...automaticActivityDetection } =
    config.realtimeInputConfig?.automaticActivityDetection ?? {};
  return { ...config, realtimeInputConfig: { ...config.realtimeInputConfig, automaticActivityDetection } };
}

/** Whether a setup may have been refused for its signals: the service names a field, or says only that something is wrong. */
export function mayBeForSignals({ code, message }: ModelFailure): boolean {
  const namesField = /unknown name|invalid value at/i.test(message);
  return code === 'SETUP' && (!namesField || /activity/i.test(message));
}

/** When the person speaks, in signals that the server takes. */
export class GeminiActivity {
  private readonly family: LiveFamily;
  private readonly detectsActivity: () => boolean;
  /** Whether the person speaks, where the client says so. */
  private isTalking = false;

  constructor(options: { family: LiveFamily; detectsActivity: () => boolean }) {
    this.family = options.family;
    this.detectsActivity = options.detectsActivity;
  }

  /** What the server is told when the person begins or ends, or interrupts; null is nothing. `isBusy`: the model is at work. */
  frame(which: 'start' | 'end', isBusy: boolean): Frame | null {
    if (!this.detectsActivity()) {
      const isTalking = which === 'start';
      // Whoever interrupts while they speak has said so already.
      if (isTalking === this.isTalking) return null;
      this.isTalking = isTalking;
      return { realtimeInput: isTalking ? { activityStart: {} } : { activityEnd: {} } };
    }
    if (which === 'end') return { realtimeInput: { audioStreamEnd: true } };
    // A model that listens by itself takes no such signal. Content interrupts an older one; a newer one is stopped by the
    // next word, typed or spoken, and is not heard until then.
    return !this.family.typesInRealtime && isBusy ? { clientContent: { turnComplete: false } } : null;
  }
}
