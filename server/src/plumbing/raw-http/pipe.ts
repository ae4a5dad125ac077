import type { Socket } from 'bun';

/** The part of a socket that is written to; a number below that of the bytes says that it takes no more for now. */
export type Sink = Pick<Socket<unknown>, 'write'>;
export type Source = Pick<Socket<unknown>, 'pause' | 'resume'>;

/** One way between two sockets: no more is read than the other side takes. */
export class Pipe {
  readonly #from: Source;
  readonly #finished: () => void;
  #to: Sink | null = null;
  /** What was read and not yet taken. */
  #waiting: Buffer[] = [];
  #isPaused = false;
  #isEnded = false;
  #isFinished = false;

  /** `finished` when all that was read before its end has been taken. */
  constructor(from: Source, finished: () => void) {
    this.#from = from;
    this.#finished = finished;
  }

  /** Until then, what comes waits. */
  open(to: Sink): void {
    this.#to = to;
    this.drain();
  }

  push(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.drain();
  }

  drain(): void {
    const to = this.#to;
    for (let first = this.#waiting[0]; first !== undefined && to !== null; first = this.#waiting[0]) {
      const taken = Math.max(0, to.write(first, 0, first.length));
      if (taken < first.length) {
        this.#waiting[0] = first.subarray(taken);
        break;
      }
      this.#waiting.shift();
    }
    const isBehind = this.#waiting.length > 0;
    if (isBehind !== this.#isPaused) {
      this.#isPaused = isBehind;
      if (isBehind) this.#from.pause();
      else this.#from.resume();
    }
    if (isBehind || !this.#isEnded || this.#isFinished || to === null) return;
    this.#isFinished = true;
    this.#finished();
  }

  /** Nothing more comes; what was said before that still arrives. */
  end(): void {
    this.#isEnded = true;
    this.drain();
  }
}
