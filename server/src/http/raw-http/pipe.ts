import type { Socket } from 'bun';

/** `write` returns fewer bytes than given where the socket accepts no more for now. */
export type PipeEnd = Pick<Socket<unknown>, 'write' | 'pause' | 'resume'>;

interface Piece {
  bytes: Buffer;
  /** Nobody else reads the memory. */
  isOwn: boolean;
}

/** Smaller buffers are left to the garbage collection. */
const freedBytesMin = 16 * 1024;

/** One direction between two sockets, with back pressure. */
export class Pipe {
  readonly #from: PipeEnd;
  readonly #onEnd: () => void;
  #to: PipeEnd | null = null;
  #waiting: Piece[] = [];
  #isPaused = false;
  #isEnded = false;
  #isFinished = false;

  constructor(from: PipeEnd, onEnd: () => void) {
    this.#from = from;
    this.#onEnd = onEnd;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  open(to: PipeEnd): void {
    this.#to = to;
    this.drain();
  }

  /** `isOwn`: the bytes are not used afterwards, and their memory is freed as soon as they are sent. */
  push(bytes: Buffer, isOwn = false): void {
    const isWhole = bytes.length >= freedBytesMin && bytes.length === bytes.buffer.byteLength;
    this.#waiting.push({ bytes, isOwn: isOwn && isWhole });
    this.drain();
  }

  drain(): void {
    const to = this.#to;
    for (let first = this.#waiting[0]; first !== undefined && to !== null; first = this.#waiting[0]) {
      const { bytes, isOwn } = first;
      const written = Math.max(0, to.write(bytes, 0, bytes.length));
      if (written < bytes.length) {
        first.bytes = bytes.subarray(written);
        break;
      }
      this.#waiting.shift();
      // The garbage collection would leave a large body in memory for long on a busy machine.
      if (isOwn && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
    }
    const isBehind = this.#waiting.length > 0;
    if (isBehind !== this.#isPaused) {
      this.#isPaused = isBehind;
      if (isBehind) this.#from.pause();
      else this.#from.resume();
    }
    if (isBehind || !this.#isEnded || this.#isFinished || to === null) return;
    this.#isFinished = true;
    this.#onEnd();
  }

  end(): void {
    this.#isEnded = true;
    this.drain();
  }
}

/** A client's socket. Reading pauses for the server at the other end of a pipe, and while requests wait. */
export class ClientEnd implements PipeEnd {
  readonly #socket: PipeEnd;
  #isPaused = false;
  #isHeld = false;

  constructor(socket: PipeEnd) {
    this.#socket = socket;
  }

  write(...bytes: Parameters<PipeEnd['write']>): number {
    return this.#socket.write(...bytes);
  }

  pause(): void {
    this.#set(true, this.#isHeld);
  }

  resume(): void {
    this.#set(false, this.#isHeld);
  }

  hold(): void {
    this.#set(this.#isPaused, true);
  }

  release(): void {
    this.#set(this.#isPaused, false);
  }

  #set(isPaused: boolean, isHeld: boolean): void {
    const before = this.#isPaused || this.#isHeld;
    this.#isPaused = isPaused;
    this.#isHeld = isHeld;
    if (before === (isPaused || isHeld)) return;
    if (before) this.#socket.resume();
    else this.#socket.pause();
  }
}
