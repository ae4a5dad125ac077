/** Hex digits of the length of a chunk: 4 GiB. */
const chunkDigitsMax = 8;

/** Finds the end of a message body (RFC 9112 §6, §7.1). Refuses chunk extensions and trailers: parsers differ in them. */
export class BodyReader {
  isDone: boolean;
  isMalformed = false;
  #left: number;
  #digits = 0;
  #state: 'length' | 'size' | 'size-lf' | 'data' | 'data-end' | 'data-lf' | 'last' | 'last-lf';

  constructor(body: number | 'chunked') {
    this.isDone = body === 0;
    this.#left = body === 'chunked' ? 0 : body;
    this.#state = body === 'chunked' ? 'size' : 'length';
  }

  /** The index after the last byte that belongs to the body. */
  read(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && !this.isDone && !this.isMalformed) {
      if (this.#state === 'length' || this.#state === 'data') {
        const taken = Math.min(this.#left, bytes.length - at);
        at += taken;
        this.#left -= taken;
        if (this.#left > 0) break;
        if (this.#state === 'length') this.isDone = true;
        else this.#state = 'data-end';
      } else this.#readByte(bytes[at++] ?? 0);
    }
    return at;
  }

  #readByte(byte: number): void {
    if (this.#state === 'size' && byte !== cr) this.#readDigit(byte);
    else if (this.#state === 'size' && this.#digits === 0) this.isMalformed = true;
    else if (byte !== (this.#state.endsWith('-lf') ? lf : cr)) this.isMalformed = true;
    else this.#nextState();
  }

  #readDigit(byte: number): void {
    const digit = hexDigit(byte);
    if (digit < 0 || this.#digits === chunkDigitsMax) this.isMalformed = true;
    this.#left = this.#left * 16 + digit;
    this.#digits++;
  }

  #nextState(): void {
    if (this.#state === 'last-lf') this.isDone = true;
    else if (this.#state === 'size-lf') {
      this.#digits = 0;
      this.#state = this.#left === 0 ? 'last' : 'data';
    } else if (this.#state === 'data-lf') this.#state = 'size';
    else if (this.#state === 'size') this.#state = 'size-lf';
    else if (this.#state === 'data-end') this.#state = 'data-lf';
    else this.#state = 'last-lf';
  }
}

const cr = 0x0d;
const lf = 0x0a;

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
