/** The inputs for the voices of a piece. Both lead to one compressor, and `wet` leads to decaying echoes as well. */
export interface Room {
  /** For voices without echo. */
  dry: AudioNode;
  /** For voices with echo. */
  wet: AudioNode;
}

const ECHOES = [
  [0.113, -0.6],
  [0.171, 0.6],
  [0.241, -0.3],
  [0.317, 0.35],
] as const;

/** Creates the compressor and the echoes, and connects their output to a node. */
export function buildRoom(context: BaseAudioContext, into: AudioNode): Room {
  const limit = context.createDynamicsCompressor();
  limit.threshold.value = -14;
  limit.ratio.value = 4;
  limit.connect(into);
  const wet = context.createGain();
  wet.connect(limit);
  const send = context.createGain();
  send.gain.value = 0.32;
  wet.connect(send);
  for (const [seconds, pan] of ECHOES) {
    const delay = context.createDelay(1);
    delay.delayTime.value = seconds;
    const feedback = context.createGain();
    feedback.gain.value = 0.42;
    const damp = context.createBiquadFilter();
    damp.type = 'lowpass';
    damp.frequency.value = 2600;
    const side = context.createStereoPanner();
    side.pan.value = pan;
    send.connect(delay).connect(damp).connect(feedback).connect(delay);
    damp.connect(side).connect(limit);
  }
  return { dry: limit, wet };
}
