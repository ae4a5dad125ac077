import type { Socket } from 'bun';

/** Sent together at the end of the turn: a client woken early competes with responses that are still being assembled. */
export interface WriteBuffer {
  bytes: Buffer;
  used: number;
  /** Owns the bytes after the committed ones. Uncommitted bytes of an owner that failed are overwritten, never sent. */
  owner: OutputQueue | null;
  committedTo: number;
  committed: { queue: OutputQueue; from: number; to: number }[];
  isFlushScheduled: boolean;
  queuedBytes: number;
  onQueued: (() => void) | null;
}

/** Holds the responses of a whole turn; measured: 16 KB files 45k → 55k/s with 1 MiB. */
const writeBufferBytes = 1024 * 1024;
/** Smaller bodies are copied, so that head and body are one write; larger ones are written directly. */
const copiedBytesMax = 64 * 1024;

export function createWriteBuffer(): WriteBuffer {
  return {
    bytes: Buffer.allocUnsafeSlow(writeBufferBytes),
    used: 0,
    owner: null,
    committedTo: 0,
    committed: [],
    isFlushScheduled: false,
    queuedBytes: 0,
    onQueued: null,
  };
}

export class OutputQueue {
  readonly #socket: Pick<Socket<unknown>, 'write'>;
  readonly #buffer: WriteBuffer;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #onEmpty: (() => void) | null = null;
  onClose: (() => void) | null = null;
  #isClosed = false;

  constructor(socket: Pick<Socket<unknown>, 'write'>, buffer: WriteBuffer) {
    this.#socket = socket;
    this.#buffer = buffer;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Large bytes must not change afterwards, and texts are of latin1. `flushLater` or `flush` must follow in the same turn. */
  write(bytes: Uint8Array | string): void {
    if (bytes.length > copiedBytesMax) {
      this.flush();
      this.#send(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
      return;
    }
    const buffer = this.#buffer;
    if (bytes.length > buffer.bytes.length - buffer.used) this.flush();
    if (buffer.owner !== this) {
      buffer.owner = this;
      buffer.used = buffer.committedTo;
    }
    if (typeof bytes === 'string') buffer.bytes.write(bytes, buffer.used, 'latin1');
    else buffer.bytes.set(bytes, buffer.used);
    buffer.used += bytes.length;
  }

  flushLater(): void {
    const buffer = this.#buffer;
    if (!this.#commit() || buffer.isFlushScheduled) return;
    buffer.isFlushScheduled = true;
    setImmediate(() => {
      buffer.isFlushScheduled = false;
      sendCommitted(buffer);
    });
  }

  flush(): void {
    this.#commit();
    sendCommitted(this.#buffer);
  }

  #commit(): boolean {
    const buffer = this.#buffer;
    if (buffer.owner !== this || buffer.used === buffer.committedTo) return false;
    buffer.committed.push({ queue: this, from: buffer.committedTo, to: buffer.used });
    buffer.committedTo = buffer.used;
    return true;
  }

  /** Copies what the socket does not accept, because the write buffer is reused afterwards. */
  enqueueCopy(bytes: Uint8Array, from: number, to: number): void {
    const written = this.isEmpty ? this.#write(bytes, from, to - from) : 0;
    if (written < to - from) this.#enqueue(new Uint8Array(bytes.subarray(from + written, to)));
  }

  drain(): number {
    let total = 0;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const written = this.#write(first, 0, first.length);
      total += written;
      this.#count(-written);
      if (written < first.length) {
        this.#queue[0] = first.subarray(written);
        return total;
      }
      this.#queue.shift();
    }
    this.#onEmpty?.();
    this.#onEmpty = null;
    return total;
  }

  async waitUntilEmpty(): Promise<void> {
    if (this.isEmpty || this.#isClosed) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#count(-this.#queuedBytes);
    this.#onEmpty?.();
    this.#onEmpty = null;
    this.onClose?.();
  }

  #send(bytes: Uint8Array): void {
    const written = this.isEmpty ? this.#write(bytes, 0, bytes.length) : 0;
    if (written < bytes.length) this.#enqueue(bytes.subarray(written));
  }

  #enqueue(bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.#count(bytes.length);
    this.#buffer.onQueued?.();
  }

  #count(bytes: number): void {
    this.#queuedBytes += bytes;
    this.#buffer.queuedBytes += bytes;
  }

  #write(bytes: Uint8Array, from: number, length: number): number {
    if (this.#isClosed) return length;
    // `write` returns -1 where the connection is closed; the close event follows.
    return Math.max(0, this.#socket.write(bytes as Uint8Array<ArrayBuffer>, from, length));
  }
}

function sendCommitted(buffer: WriteBuffer): void {
  const { committed, bytes } = buffer;
  for (const { queue, from, to } of committed) queue.enqueueCopy(bytes, from, to);
  committed.length = 0;
  buffer.committedTo = 0;
  buffer.used = 0;
  buffer.owner = null;
}
