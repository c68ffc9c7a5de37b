/** The audio of one utterance, as far as it was received. */
export class Recording {
  private readonly pieces: Int16Array[] = [];
  private samples = 0;

  push(samples: Int16Array): void {
    this.pieces.push(samples);
    this.samples += samples.length;
  }

  get length(): number {
    return this.samples;
  }

  /** All samples in one array. */
  whole(): Int16Array {
    const whole = new Int16Array(this.samples);
    let at = 0;
    for (const piece of this.pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}
