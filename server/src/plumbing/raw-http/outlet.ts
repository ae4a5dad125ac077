import type { Socket } from 'bun';

/** Where answers are put together, one for a whole listener: it is empty whenever anybody else has a turn. */
export interface Desk {
  bytes: Buffer;
  used: number;
  /** What another has left here, when it failed in its turn, is never sent to anybody. */
  owner: Outlet | null;
  /** What all connections have been sent and have not taken yet. */
  queuedBytes: number;
  /** Called when that becomes more. */
  onQueued: (() => void) | null;
}

const deskBytes = 256 * 1024;
/** Copied to the desk, so that head and body leave in one piece; more goes as it is. */
const copiedBytesMax = 64 * 1024;

export function createDesk(): Desk {
  return { bytes: Buffer.allocUnsafeSlow(deskBytes), used: 0, owner: null, queuedBytes: 0, onQueued: null };
}

/** What leaves on one connection, in order, no faster than it is taken. */
export class Outlet {
  readonly #socket: Pick<Socket<unknown>, 'write'>;
  readonly #desk: Desk;
  /** What the socket has not taken yet. */
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #emptied: (() => void) | null = null;
  /** Who is to hear that the connection is gone. */
  onClose: (() => void) | null = null;
  #isClosed = false;

  constructor(socket: Pick<Socket<unknown>, 'write'>, desk: Desk) {
    this.#socket = socket;
    this.#desk = desk;
  }

  /** All that was flushed has left. */
  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Bytes that nobody changes afterwards, unless they are few. `flush` must follow before the turn ends. */
  put(bytes: Uint8Array): void {
    const desk = this.#desk;
    if (desk.owner !== this) {
      desk.owner = this;
      desk.used = 0;
    }
    if (bytes.length > copiedBytesMax) {
      this.flush();
      this.#send(bytes);
      return;
    }
    if (bytes.length > desk.bytes.length - desk.used) this.flush();
    desk.bytes.set(bytes, desk.used);
    desk.used += bytes.length;
  }

  flush(): void {
    const desk = this.#desk;
    const length = desk.used;
    if (length === 0 || desk.owner !== this) return;
    desk.used = 0;
    const taken = this.isEmpty ? this.#write(desk.bytes, length) : 0;
    if (taken < length) this.#keep(new Uint8Array(desk.bytes.subarray(taken, length)));
  }

  /** How many bytes were taken. */
  drain(): number {
    let total = 0;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const taken = this.#write(first, first.length);
      total += taken;
      this.#count(-taken);
      if (taken < first.length) {
        this.#queue[0] = first.subarray(taken);
        return total;
      }
      this.#queue.shift();
    }
    this.#emptied?.();
    this.#emptied = null;
    return total;
  }

  /** Also when the connection is gone. */
  async empty(): Promise<void> {
    if (this.isEmpty || this.#isClosed) return;
    await new Promise<void>((resolve) => {
      this.#emptied = resolve;
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#count(-this.#queuedBytes);
    this.#emptied?.();
    this.#emptied = null;
    this.onClose?.();
  }

  #send(bytes: Uint8Array): void {
    const taken = this.isEmpty ? this.#write(bytes, bytes.length) : 0;
    if (taken < bytes.length) this.#keep(bytes.subarray(taken));
  }

  #keep(bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.#count(bytes.length);
    this.#desk.onQueued?.();
  }

  #count(bytes: number): void {
    this.#queuedBytes += bytes;
    this.#desk.queuedBytes += bytes;
  }

  #write(bytes: Uint8Array, length: number): number {
    if (this.#isClosed) return length;
    // -1 where the connection is already gone, which it says by itself.
    return Math.max(0, this.#socket.write(bytes as Uint8Array<ArrayBuffer>, 0, length));
  }
}
