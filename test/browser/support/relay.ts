import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Longer than any marker that a test waits for. */
const LONGEST_MARKER = 100;

/** A TCP relay between browser and server that can cut connections and hold back the server's data. */
export class Relay {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((socket) => this.accept(socket));
  private readonly target: number;
  private isCut = false;
  private marker: string | null = null;
  private held: (() => void)[] = [];
  private onHeld: (() => void) | null = null;

  constructor(target: string) {
    this.target = Number(new URL(target).port);
  }

  async start(): Promise<this> {
    this.server.listen(0, 'localhost');
    await once(this.server, 'listening');
    return this;
  }

  get url(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** Closes every connection and refuses new ones. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  restore(): void {
    this.isCut = false;
    this.marker = null;
  }

  /** Holds back all data of the first connection on which the server sends this marker, from the marker on; resolves at the marker. */
  hold(marker: string): Promise<void> {
    this.marker = marker;
    return new Promise((resolve) => {
      this.onHeld = resolve;
    });
  }

  /** Forwards the held data. */
  release(): void {
    for (const go of this.held.splice(0)) go();
  }

  async dispose(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(near: Socket): void {
    if (this.isCut) {
      near.destroy();
      return;
    }
    const far = connect(this.target, 'localhost');
    const pair = [near, far];
    for (const socket of pair) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        for (const other of pair) other.destroy();
      });
    }
    near.pipe(far);
    let tail = Buffer.alloc(0);
    far.on('data', (bytes: Buffer) => {
      this.pass(tail, bytes, near, far);
      tail = Buffer.concat([tail, bytes]).subarray(-LONGEST_MARKER);
    });
    far.on('end', () => near.end());
  }

  /** Forwards data of the server, or holds it back; `tail` is the end of the data forwarded before. */
  private pass(tail: Buffer, bytes: Buffer, near: Socket, far: Socket): void {
    const at = this.marker === null ? -1 : beginOf(this.marker, tail, bytes);
    if (at === -1) {
      near.write(bytes);
      return;
    }
    this.marker = null;
    near.write(bytes.subarray(0, at));
    far.pause();
    this.held.push(() => {
      near.write(bytes.subarray(at));
      far.resume();
    });
    this.onHeld?.();
  }
}

/** The index at which a marker begins, also one that began in the previous bytes; -1 when there is none. */
function beginOf(marker: string, before: Buffer, bytes: Buffer): number {
  const begun = before.subarray(1 - marker.length);
  const at = Buffer.concat([begun, bytes]).indexOf(marker);
  return at === -1 ? -1 : Math.max(0, at - begun.length);
}
