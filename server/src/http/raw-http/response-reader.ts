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

const headEnd = Buffer.from('\r\n\r\n');
const connectionClose = Buffer.from('\r\nConnection: close\r\n\r\n');
/** The general server limits neither the number nor the length of an app's response headers. */
const headBytesMax = 1024 * 1024;

/** Finds the end of a response of the general server, which writes its heads and chunks itself. */
export class ResponseReader {
  /** `tunnel`: the connection has become another protocol's; the client's bytes have no end then. */
  state: 'head' | 'body' | 'until-close' | 'tunnel' | 'done' | 'malformed' = 'head';
  isLast = false;
  hasBegun = false;
  readonly #isHead: boolean;
  readonly #isLastRequest: () => boolean;
  #partialHead: Buffer | null = null;
  #body: BodyReader | null = null;

  constructor({ method, isLast }: { method: string; isLast: () => boolean }) {
    this.#isHead = method === 'HEAD';
    this.#isLastRequest = isLast;
  }

  read(received: Buffer): Buffer {
    if (this.state !== 'head') return this.#readBody(received);
    const bytes = this.#partialHead === null ? received : Buffer.concat([this.#partialHead, received]);
    const end = bytes.indexOf(headEnd);
    if (end < 0) {
      this.#partialHead = bytes;
      if (bytes.length > headBytesMax) this.state = 'malformed';
      return Buffer.alloc(0);
    }
    this.#partialHead = null;
    this.hasBegun = true;
    const head = bytes.subarray(0, end + headEnd.length);
    const rest = bytes.subarray(head.length);
    const { status, isInterim, hasClose } = this.#readHead(head.toString('latin1'));
    if (isInterim) return rest.length === 0 ? head : Buffer.concat([head, this.read(rest)]);
    const isClosing = this.isLast && !hasClose && status !== 101;
    const sent = isClosing ? Buffer.concat([head.subarray(0, end), connectionClose]) : head;
    if (rest.length === 0) return sent;
    const body = this.#readBody(rest);
    // The common case of one piece costs no copy.
    return sent === head && body.length === rest.length ? bytes : Buffer.concat([sent, body]);
  }

  #readHead(head: string): { status: number; isInterim: boolean; hasClose: boolean } {
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
    if (status >= 100 && status < 200 && status !== 101) return { status, isInterim: true, hasClose: false };
    const hasClose = /\r\nconnection:[^\r]*\bclose\b/i.test(head);
    this.isLast = hasClose || this.#isLastRequest();
    const length = /\r\ncontent-length: *(\d+) *\r/i.exec(head)?.[1];
    if (Number.isNaN(status)) this.state = 'malformed';
    else if (status === 101) this.state = 'tunnel';
    else if (this.#isHead || status === 204 || status === 304) this.state = 'done';
    else if (/\r\ntransfer-encoding: *chunked *\r/i.test(head)) this.#startBody('chunked');
    else if (length !== undefined) this.#startBody(Number(length));
    else {
      this.state = 'until-close';
      this.isLast = true;
    }
    return { status, isInterim: false, hasClose };
  }

  #startBody(length: number | 'chunked'): void {
    this.#body = new BodyReader(length);
    this.state = this.#body.isDone ? 'done' : 'body';
  }

  #readBody(bytes: Buffer): Buffer {
    if (this.state !== 'body' || this.#body === null) {
      // Nothing may follow: it would be read as the response to the next request.
      if (this.state === 'done') this.state = 'malformed';
      return this.state === 'malformed' ? Buffer.alloc(0) : bytes;
    }
    const end = this.#body.read(bytes, 0);
    if (this.#body.isMalformed || (this.#body.isDone && end < bytes.length)) this.state = 'malformed';
    else if (this.#body.isDone) this.state = 'done';
    return bytes.subarray(0, end);
  }
}
