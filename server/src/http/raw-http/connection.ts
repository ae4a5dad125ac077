import type { Socket } from 'bun';
import { Failure, fail } from '../../core/problem.ts';
import type { TrustedProxies } from '../client-address.ts';
import type { AppProxy, Edge, EdgeResponse } from '../edge-request.ts';
import { OutputQueue, type WriteBuffer } from './output-queue.ts';
import { headBytesMax, parseHead, type RequestHead } from './parse-head.ts';
import { openPassThrough, type PassThrough, type PassThroughClients } from './pass-through.ts';
import type { Authority } from './raw-request.ts';

import {
  type AfterResponse,
  type OpenBody,
  type ResponseDeps,
  sendBody,
  sendError,
  sendMalformedError,
  sendResponse,
} from './send-response.ts';

export interface ListenerState extends ResponseDeps {
  edge: () => Edge | null;
  writeBuffer: WriteBuffer;
  trustedProxies: TrustedProxies;
  passThroughClients: PassThroughClients;
  pendingResponses: number;
  pendingResponsesMax: number;
}

const headSecondsMax = 10;
const keepAliveSecondsMax = 72;
const responseSecondsMax = 45;
/** For a client to close after the half-close; what it sends meanwhile is dropped. */
const halfCloseSecondsMax = 2;

/** Requests are answered in order; reading pauses when more than `headBytesMax` bytes wait. */
export class Connection {
  readonly #socket: Socket<Connection>;
  readonly #shared: ListenerState;
  readonly #output: OutputQueue;
  /** `finishing`: the last response is queued; `half-closed`: it was sent, and the client has not closed yet. */
  #state: 'reading' | 'responding' | 'finishing' | 'half-closed' | 'pass-through' | 'closed' = 'reading';
  #unread: Buffer | null = null;
  #hasPartialHead = false;
  #isPaused = false;
  #clientEnded = false;
  #isForApp = false;
  #authority: Authority | null = null;
  #passThrough: PassThrough | null = null;
  #deadline: number;
  #activeAt: number;

  constructor(socket: Socket<Connection>, shared: ListenerState) {
    this.#socket = socket;
    this.#shared = shared;
    this.#output = new OutputQueue(socket, shared.writeBuffer);
    this.#activeAt = shared.clock.second;
    this.#deadline = this.#activeAt + headSecondsMax;
  }

  get isBusy(): boolean {
    if (this.#state === 'reading') return !this.#output.isEmpty || this.#unread !== null;
    return this.#state !== 'half-closed' && this.#state !== 'closed';
  }

  get idleSince(): number | null {
    return this.#state === 'reading' && this.#output.isEmpty ? this.#activeAt : null;
  }

  get stalled(): { bytes: number; since: number } | null {
    return this.#output.isEmpty ? null : { bytes: this.#output.queuedBytes, since: this.#activeAt };
  }

  data(bytes: Buffer): void {
    if (this.#state === 'pass-through') this.#passThrough?.fromClient(bytes);
    else if (this.#state === 'reading' || this.#state === 'responding') this.#receive(bytes);
  }

  #receive(bytes: Buffer): void {
    const before = this.#unread;
    this.#unread = before === null ? bytes : Buffer.concat([before, bytes]);
    if (this.#state === 'responding' || !this.#output.isEmpty) {
      if (this.#unread.length >= headBytesMax) this.#pause();
      return;
    }
    // A partial head is parsed again only when a line ends: slow clients must not cost CPU time.
    if (this.#hasPartialHead && this.#unread.length < headBytesMax && !bytes.includes(0x0a)) return;
    this.#advance();
  }

  drain(): void {
    this.#passThrough?.clientDrained();
    if (this.#output.drain() > 0) this.#setDeadline(responseSecondsMax);
    if (this.#output.isEmpty && this.#passThrough === null) this.#advance();
  }

  ended(): void {
    this.#clientEnded = true;
    if (this.#state === 'half-closed') this.#socket.end();
    else if (this.#passThrough !== null) this.#passThrough.clientEnded();
    else this.#advance();
  }

  closed(): void {
    this.#state = 'closed';
    this.#unread = null;
    this.#output.close();
    this.#passThrough?.clientClosed();
  }

  tick(): void {
    if (this.#shared.clock.second < this.#deadline || this.#state === 'pass-through') return;
    if (this.#state !== 'reading' || !this.#output.isEmpty) this.#socket.terminate();
    else if (this.#hasPartialHead) this.#refuse(fail('request_timeout'));
    else this.#halfClose();
  }

  close(): void {
    this.#output.flush();
    this.#socket.end();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #advance(): void {
    const hadPartialHead = this.#hasPartialHead;
    let at = 0;
    this.#hasPartialHead = false;
    const edge = this.#shared.edge();
    while (this.#state === 'reading' && this.#output.isEmpty && this.#unread !== null) {
      if (at === this.#unread.length) break;
      const head = this.#isForApp ? 'pass-through' : parseHead(this.#unread, at, this.#authority);
      if (head === null) {
        this.#hasPartialHead = true;
        // The time counts from the first byte of the head.
        if (!hadPartialHead || at > 0) this.#setDeadline(headSecondsMax);
        break;
      }
      if (head instanceof Failure) {
        this.#refuse(head);
        return;
      } else if (head === 'pass-through' || !edge?.serves(head.request.host)) {
        this.#output.flush();
        if (!this.#output.isEmpty) break;
        this.#startPassThrough(this.#unread.subarray(at));
        return;
      } else {
        const headAt = at;
        at = head.end;
        this.#authority = head.authority;
        this.#isForApp = !this.#answer(edge, head, headAt);
        if (this.#isForApp) at = headAt;
      }
    }
    if (this.#unread !== null) this.#unread = at === this.#unread.length ? null : this.#unread.subarray(at);
    this.#finishTurn();
  }

  #finishTurn(): void {
    // A connection that stays open can wait for the end of the turn.
    if (this.#state === 'reading' && !this.#clientEnded) this.#output.flushLater();
    else this.#output.flush();
    if (this.#state === 'responding' || !this.#output.isEmpty) {
      this.#setDeadline(responseSecondsMax);
    } else if (this.#state === 'finishing' || (this.#state === 'reading' && this.#clientEnded)) {
      this.#halfClose();
    } else if (this.#state === 'reading') {
      if (!this.#hasPartialHead) this.#setDeadline(keepAliveSecondsMax);
      this.#resume();
    }
  }

  #answer(edge: Edge, head: RequestHead, headAt: number): boolean {
    const shared = this.#shared;
    if (this.#isHttpsAtProxy(head)) head.request.scheme = 'https';
    let result: ReturnType<Edge['answer']>;
    try {
      result = edge.answer(head.request);
    } catch (error) {
      this.#afterResponse(sendError(this.#output, shared, head, error));
      return true;
    }
    if (!(result instanceof Promise)) {
      if ('proxy' in result) return false;
      this.#afterResponse(sendResponse(this.#output, shared, head, result));
      return true;
    }
    // Checked after the call: cached responses are sent however many requests wait.
    if (shared.pendingResponses >= shared.pendingResponsesMax) {
      void result.then(cancelBody, () => {});
      const failure = fail('unavailable', { detail: 'Too many concurrent requests.' });
      this.#afterResponse(sendError(this.#output, shared, head, failure));
      return true;
    }
    this.#state = 'responding';
    shared.pendingResponses++;
    const bytes = this.#unread?.subarray(headAt, head.end) ?? Buffer.alloc(0);
    result
      .then(
        (response) => {
          if ('proxy' in response) this.#toApp(bytes);
          else this.#respond(response, () => sendResponse(this.#output, shared, head, response));
        },
        (error: unknown) => this.#respond(null, () => sendError(this.#output, shared, head, error)),
      )
      .catch((error: unknown) => this.#abort(error));
    return true;
  }

  #toApp(head: Buffer): void {
    this.#shared.pendingResponses--;
    if (this.#state === 'closed') return;
    this.#unread = this.#unread === null ? head : Buffer.concat([head, this.#unread]);
    this.#isForApp = true;
    this.#state = 'reading';
    this.#advance();
  }

  #isHttpsAtProxy({ request }: RequestHead): boolean {
    const scheme = request.header('x-forwarded-proto');
    if (scheme === null || scheme.toLowerCase() !== 'https') return false;
    return this.#shared.trustedProxies.includes(this.#socket.remoteAddress);
  }

  #respond(response: EdgeResponse | null, send: () => AfterResponse): void {
    this.#shared.pendingResponses--;
    if (this.#state === 'closed') {
      if (response) cancelBody(response);
      return;
    }
    this.#state = 'reading';
    this.#afterResponse(send());
    this.#advance();
  }

  #afterResponse(after: AfterResponse): void {
    if (after === 'last') this.#state = 'finishing';
    else if (after !== 'next') this.#sendBody(after);
  }

  #sendBody(open: OpenBody): void {
    this.#state = 'responding';
    this.#output.flush();
    sendBody(this.#output, open, () => this.#setDeadline(responseSecondsMax))
      .then(() => {
        if (this.#state === 'closed') return;
        this.#state = open.isLast ? 'finishing' : 'reading';
        this.#advance();
      })
      .catch((error: unknown) => this.#abort(error));
  }

  /** A part of the response may have been sent: only closing the connection shows that it is incomplete. */
  #abort(error: unknown): void {
    if (this.#state === 'closed') return;
    this.#shared.log.warn({ err: error }, 'response aborted');
    this.#socket.terminate();
  }

  #refuse(failure: Failure): void {
    this.#afterResponse(sendMalformedError(this.#output, this.#shared, failure));
    this.#finishTurn();
  }

  #startPassThrough(bytes: Buffer): void {
    const { passThroughClients: passedOn, log } = this.#shared;
    this.#state = 'pass-through';
    this.#unread = null;
    // The pass-through pauses and resumes the socket, so its state is unknown here.
    this.#isPaused = true;
    this.#passThrough = openPassThrough({
      client: this.#socket,
      clients: passedOn,
      onEnd: () => this.#halfClose(),
      onError: (error) => {
        log.error({ err: error }, 'pass-through failed');
        if (this.#state === 'closed') return;
        this.#passThrough = null;
        this.#refuse(fail('unavailable'));
      },
    });
    this.#passThrough.fromClient(bytes);
    if (this.#clientEnded) this.#passThrough.clientEnded();
  }

  /** An immediate close could discard data that the client has not read yet (RFC 9112 §9.6). */
  #halfClose(): void {
    if (this.#state === 'closed') return;
    this.#output.flush();
    this.#state = 'half-closed';
    this.#unread = null;
    this.#resume();
    this.#setDeadline(halfCloseSecondsMax);
    if (this.#clientEnded) this.#socket.end();
    else this.#socket.shutdown();
  }

  #setDeadline(seconds: number): void {
    this.#activeAt = this.#shared.clock.second;
    this.#deadline = this.#activeAt + seconds;
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}

function cancelBody(response: EdgeResponse | AppProxy): void {
  const body = 'proxy' in response ? null : response.body;
  if (body instanceof ReadableStream) void body.cancel().catch(() => {});
}
