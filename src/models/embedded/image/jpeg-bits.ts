/** Thrown when the data of a picture contradicts itself or ends too early. */
export class DamagedError extends Error {}

/** A table of codes: how the bits of a scan become values. */
export interface Huffman {
  /** For each code length 1..16: first code, first index into `values`, number of codes. */
  first: number[];
  start: number[];
  count: number[];
  values: Uint8Array;
}

/** Reads the bits of a scan, in which 0xff is followed by a zero that is not data. */
export class BitReader {
  private readonly data: Uint8Array;
  private at = 0;
  private held = 0;
  private heldBits = 0;

  constructor(data: Uint8Array) {
    this.data = data;
  }

  bit(): number {
    if (this.heldBits === 0) {
      const byte = this.data[this.at];
      if (byte === undefined) throw new DamagedError();
      this.at += 1;
      if (byte === 0xff) {
        if (this.data[this.at] !== 0) throw new DamagedError();
        this.at += 1;
      }
      this.held = byte;
      this.heldBits = 8;
    }
    this.heldBits -= 1;
    return (this.held >> this.heldBits) & 1;
  }

  code(table: Huffman): number {
    let code = 0;
    for (let length = 1; length <= 16; length += 1) {
      code = (code << 1) | this.bit();
      const index = code - (table.first[length] ?? 0);
      if (index >= 0 && index < (table.count[length] ?? 0))
        return table.values[(table.start[length] ?? 0) + index] ?? 0;
    }
    throw new DamagedError();
  }

  signed(size: number): number {
    if (size === 0) return 0;
    let value = 0;
    for (let index = 0; index < size; index += 1) value = value * 2 + this.bit();
    return value < 2 ** (size - 1) ? value - 2 ** size + 1 : value;
  }

  skip(count: number): void {
    for (let index = 0; index < count; index += 1) this.bit();
  }

  restart(): void {
    this.heldBits = 0;
    while (this.at + 1 < this.data.length) {
      const next = this.data[this.at + 1] ?? 0;
      if (this.data[this.at] === 0xff && next >= 0xd0 && next <= 0xd7) {
        this.at += 2;
        return;
      }
      this.at += 1;
    }
    throw new DamagedError();
  }
}
