/** Less than this is not worth counting: headers of frames, and the beginnings of small ones. */
const WORTH_COUNTING = 4096;

/**
 * Knows how much of a frame that is not whole has come off a socket. It is told of every piece, after the frames that ended
 * in it.
 */
export class UnfinishedFrame {
  private bytes = 0;
  private ended = 0;
  private hasEnded = false;

  /** A frame ended. */
  end(bytes: number): void {
    this.ended += bytes;
    this.hasEnded = true;
  }

  /** A piece came: the bytes of the frame that is unfinished now, and whether it is another one than before. */
  push(bytes: number): { bytes: number; isNew: boolean } {
    const isNew = this.hasEnded;
    this.bytes += bytes;
    // Headers are not told of, so that a little too much is left; but what is left came in this piece.
    if (isNew) this.bytes = Math.max(0, Math.min(this.bytes - this.ended, bytes));
    this.ended = 0;
    this.hasEnded = false;
    return { bytes: this.bytes < WORTH_COUNTING ? 0 : this.bytes, isNew };
  }
}
