import type { Socket } from 'bun';

/**
 * Where answers are put together, one for a whole listener. What is settled waits for the end of the turn, and then all
 * of it leaves in one go: a client that is woken by an answer takes time from those that are still being made.
 */
export interface Desk {
  bytes: Buffer;
  used: number;
  /** Whose bytes lie behind the settled ones. What another has left there, when it failed, is never sent to anybody. */
  owner: Outlet | null;
  settledTo: number;
  settled: { outlet: Outlet; from: number; to: number }[];
  isPlanned: boolean;
  /** What all connections have been sent and have not taken yet. */
  queuedBytes: number;
  /** Called when that becomes more. */
  onQueued: (() => void) | null;
}

/** Room for a whole turn of answers: fewer would be sent while others are still being made. */
const deskBytes = 1024 * 1024;
/** Copied to the desk, so that head and body leave in one piece; more goes as it is. */
const copiedBytesMax = 64 * 1024;

export function createDesk(): Desk {
  return {
    ...{ bytes: Buffer.allocUnsafeSlow(deskBytes), used: 0, owner: null },
    ...{ settledTo: 0, settled: [], isPlanned: false },
    ...{ queuedBytes: 0, onQueued: null },
  };
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

  /** Bytes that nobody changes afterwards, unless they are few. `leave` or `flush` must follow before the turn ends. */
  put(bytes: Uint8Array): void {
    if (bytes.length > copiedBytesMax) {
      this.flush();
      this.#send(bytes);
      return;
    }
    const desk = this.#desk;
    if (bytes.length > desk.bytes.length - desk.used) this.flush();
    if (desk.owner !== this) {
      desk.owner = this;
      desk.used = desk.settledTo;
    }
    desk.bytes.set(bytes, desk.used);
    desk.used += bytes.length;
  }

  /** To be sent when all who have a turn now have had it. */
  leave(): void {
    const desk = this.#desk;
    if (!this.#settle() || desk.isPlanned) return;
    desk.isPlanned = true;
    setImmediate(() => {
      desk.isPlanned = false;
      clear(desk);
    });
  }

  /** To be sent now, with all that others have left before. */
  flush(): void {
    this.#settle();
    clear(this.#desk);
  }

  /** Whether there was anything. */
  #settle(): boolean {
    const desk = this.#desk;
    if (desk.owner !== this || desk.used === desk.settledTo) return false;
    desk.settled.push({ outlet: this, from: desk.settledTo, to: desk.used });
    desk.settledTo = desk.used;
    return true;
  }

  /** Of the desk, which is used again as soon as this is done. */
  take(bytes: Uint8Array, from: number, to: number): void {
    const taken = this.isEmpty ? this.#write(bytes, from, to - from) : 0;
    if (taken < to - from) this.#keep(new Uint8Array(bytes.subarray(from + taken, to)));
  }

  /** How many bytes were taken. */
  drain(): number {
    let total = 0;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const taken = this.#write(first, 0, first.length);
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
    const taken = this.isEmpty ? this.#write(bytes, 0, bytes.length) : 0;
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

  #write(bytes: Uint8Array, from: number, length: number): number {
    if (this.#isClosed) return length;
    // -1 where the connection is already gone, which it says by itself.
    return Math.max(0, this.#socket.write(bytes as Uint8Array<ArrayBuffer>, from, length));
  }
}

function clear(desk: Desk): void {
  const { settled, bytes } = desk;
  for (const { outlet, from, to } of settled) outlet.take(bytes, from, to);
  settled.length = 0;
  desk.settledTo = 0;
  desk.used = 0;
  desk.owner = null;
}
