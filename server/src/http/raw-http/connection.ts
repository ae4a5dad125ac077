import type { Socket } from 'bun';
import { Failure, fail } from '../../core/problem.ts';
import type { AppProxy, EdgeResponse } from '../edge-request.ts';
import { type ListenerState, secondsMax } from './connection-limits.ts';
import { OutputQueue } from './output-queue.ts';
import { headBytesMax, mayHaveEnded, originForm, parseHead, type RequestHead } from './parse-head.ts';
import { PassThrough } from './pass-through.ts';
import { ClientEnd } from './pipe.ts';
import { type Authority, askApp, notAllowed, type Routed, routeRequest } from './raw-request.ts';
import {
  type AfterResponse,
  cancelBody,
  type OpenBody,
  sendBody,
  sendError,
  sendMalformedError,
  sendResponse,
} from './send-response.ts';

/** Requests are answered in order; reading pauses when more than `headBytesMax` bytes wait. */
export class Connection {
  readonly #socket: Socket<Connection>;
  readonly #shared: ListenerState;
  readonly #peer: string;
  readonly #output: OutputQueue;
  readonly #client: ClientEnd;
  /** `finishing`: the last response is queued; `half-closed`: it was sent, and the client has not closed yet. */
  #state: 'reading' | 'responding' | 'passing' | 'tunnel' | 'finishing' | 'half-closed' | 'closed' =
    'reading';
  #unread: Buffer | null = null;
  #hasPartialRequest = false;
  /** Unread bytes before which a partial request is not parsed again. */
  #neededBytes = 0;
  #clientEnded = false;
  /** The app has limits of its own for the time until it answers, and between the pieces of its answer. */
  #waitsForApp = false;
  /** The next request was looked at, and is for the general server. */
  #isPassedNext = false;
  #authority: Authority | null = null;
  #passThrough: PassThrough | null = null;
  #abortRequest: (() => void) | null = null;
  #deadline: number;
  #activeAt: number;

  constructor(socket: Socket<Connection>, shared: ListenerState, peer: string) {
    this.#socket = socket;
    this.#shared = shared;
    this.#peer = peer;
    this.#output = new OutputQueue(socket, shared.writeBuffer);
    this.#client = new ClientEnd(socket);
    this.#activeAt = shared.clock.second;
    this.#deadline = this.#activeAt + secondsMax.head;
  }

  /** A tunnel has no end that could be waited for. */
  get isBusy(): boolean {
    if (this.#state === 'reading') return !this.#output.isEmpty || this.#unread !== null;
    return this.#state !== 'half-closed' && this.#state !== 'closed' && this.#state !== 'tunnel';
  }

  get #isPassing(): boolean {
    return this.#state === 'passing' || this.#state === 'tunnel';
  }

  get idleSince(): number | null {
    return this.#state === 'reading' && this.#output.isEmpty ? this.#activeAt : null;
  }

  get stalled(): { bytes: number; since: number } | null {
    return this.#output.isEmpty ? null : { bytes: this.#output.queuedBytes, since: this.#activeAt };
  }

  data(bytes: Buffer): void {
    if (this.#state === 'tunnel') this.#passThrough?.sendBody(bytes);
    else if (this.#state === 'reading' || this.#state === 'responding' || this.#state === 'passing')
      this.#receive(bytes);
  }

  #receive(bytes: Buffer): void {
    const before = this.#unread;
    this.#unread = before === null ? bytes : Buffer.concat([before, bytes]);
    if (this.#state === 'passing') {
      this.#passBody();
      return;
    }
    if (this.#state === 'responding' || !this.#output.isEmpty) {
      if (this.#unread.length >= headBytesMax) this.#client.hold();
      return;
    }
    if (this.#hasPartialRequest && !mayHaveEnded(this.#unread, before?.length ?? 0, this.#neededBytes))
      return;
    this.#advance();
  }

  drain(): void {
    if (this.#isPassing) this.#extendTimeout();
    this.#passThrough?.clientDrained();
    if (this.#output.drain() > 0) this.#setDeadline(secondsMax.response);
    if (this.#output.isEmpty && this.#state !== 'passing') this.#advance();
  }

  ended(): void {
    this.#clientEnded = true;
    this.#abortRequest?.();
    if (this.#state === 'half-closed') this.#socket.end();
    else if (this.#isPassing) this.#passThrough?.clientEnded();
    else this.#advance();
  }

  closed(): void {
    this.#state = 'closed';
    this.#unread = null;
    this.#output.close();
    this.#abortRequest?.();
    this.#passThrough?.close();
  }

  tick(): void {
    const { second } = this.#shared.clock;
    // The general server has time limits of its own; after its end, only the client is waited for.
    if (this.#isPassing && this.#passThrough?.isServerGone !== true) return;
    const isIdle = !this.#isPassing && second - this.#activeAt >= secondsMax.passThroughIdle;
    if (this.#passThrough !== null && isIdle) this.#closePassThrough();
    const isWaiting = this.#waitsForApp && this.#state === 'responding' && this.#output.isEmpty;
    if (second < this.#deadline || isWaiting) return;
    if (this.#state !== 'reading' || !this.#output.isEmpty) this.#socket.terminate();
    else if (this.#hasPartialRequest) this.#refuse(fail('request_timeout'));
    else this.#halfClose();
  }

  closeIfIdle(seconds: number): void {
    const since = this.#unread === null ? this.idleSince : null;
    if (since !== null && this.#shared.clock.second - since >= seconds) this.#halfClose();
  }

  close(): void {
    this.#output.flush();
    this.#closePassThrough();
    this.#socket.end();
  }

  readonly terminate = () => this.#socket.terminate();

  #advance(): void {
    const hadPartialRequest = this.#hasPartialRequest;
    let at = 0;
    this.#hasPartialRequest = false;
    this.#neededBytes = 0;
    while (this.#state === 'reading' && this.#output.isEmpty && this.#unread !== null) {
      if (at === this.#unread.length) break;
      const head = parseHead(this.#unread, at, this.#authority);
      if (head instanceof Failure) {
        this.#refuse(head);
        return;
      }
      const end = head === null ? null : this.#handle(head, this.#unread, at);
      if (head === null || end === null) {
        this.#hasPartialRequest = true;
        if (this.#neededBytes > 0) this.#neededBytes -= at;
        // The time counts from the first byte of the request.
        if (!hadPartialRequest || at > 0) this.#setDeadline(secondsMax.head);
        break;
      }
      at = end;
      this.#authority = head.authority;
    }
    if (this.#unread !== null) this.#unread = at === this.#unread.length ? null : this.#unread.subarray(at);
    if (this.#state === 'passing') this.#passBody();
    else this.#finishTurn();
  }

  #finishTurn(): void {
    // A connection that stays open can wait for the end of the turn.
    if (this.#state === 'reading' && !this.#clientEnded) this.#output.flushLater();
    else this.#output.flush();
    if (this.#state === 'responding' || !this.#output.isEmpty) {
      this.#setDeadline(secondsMax.response);
    } else if (this.#state === 'finishing' || (this.#state === 'reading' && this.#clientEnded)) {
      this.#halfClose();
    } else if (this.#state === 'reading') {
      if (!this.#hasPartialRequest) this.#setDeadline(secondsMax.keepAlive);
      this.#client.release();
    }
  }

  /** Returns the end of the request, or of its head where it is passed on; null where more bytes are needed. */
  #handle(head: RequestHead, bytes: Buffer, at: number): number | null {
    let routed: Routed;
    this.#waitsForApp = false;
    this.#abortRequest = null;
    if (this.#isPassedNext) return this.#pass(head, bytes, at);
    try {
      routed = routeRequest(this.#shared, head, {
        peer: this.#peer,
        bytes,
        extendTimeout: this.#extendTimeout,
      });
    } catch (error) {
      this.#afterResponse(sendError(this.#output, this.#shared, head, error));
      return head.end;
    }
    if (routed === 'pass') return this.#pass(head, bytes, at);
    if (typeof routed === 'number') {
      this.#neededBytes = routed;
      return null;
    }
    if (routed instanceof Promise) this.#await(head, routed, bytes.subarray(at, head.end));
    else if ('response' in routed) {
      this.#abortRequest = routed.abort;
      this.#await(head, routed.response, null);
      return head.end + Number(head.body);
    } else if ('proxy' in routed) {
      if (!this.#askApp(head, routed)) return this.#pass(head, bytes, at);
    } else this.#afterResponse(sendResponse(this.#output, this.#shared, head, routed));
    return head.end;
  }

  #await(head: RequestHead, result: Promise<EdgeResponse | AppProxy>, headBytes: Buffer | null): void {
    const shared = this.#shared;
    // The proxy limits how many requests apps have.
    const counted = this.#waitsForApp ? 0 : 1;
    // Checked after the call: cached responses are sent however many requests wait.
    if (counted > 0 && shared.pendingResponses >= shared.pendingResponsesMax) {
      void result.then(cancelBody, () => {});
      const failure = fail('unavailable', { detail: 'Too many concurrent requests.' });
      this.#afterResponse(sendError(this.#output, shared, head, failure));
      return;
    }
    this.#state = 'responding';
    shared.pendingResponses += counted;
    result
      .then(
        (response) => {
          shared.pendingResponses -= counted;
          // A client that leaves ends the stream of an app, which may not send anything for long.
          if (!this.#waitsForApp) this.#abortRequest = null;
          if (this.#state === 'closed') cancelBody(response);
          else if (!('proxy' in response))
            this.#respond(() => sendResponse(this.#output, shared, head, response));
          else if (!this.#askApp(head, response) && headBytes !== null)
            this.#passAgain(headBytes, head.authority);
        },
        (error: unknown) => {
          shared.pendingResponses -= counted;
          if (this.#state !== 'closed') this.#respond(() => sendError(this.#output, shared, head, error));
        },
      )
      .catch((error: unknown) => this.#abort(error));
  }

  #askApp(head: RequestHead, app: AppProxy): boolean {
    const call = askApp(this.#shared, head, { app, peer: this.#peer });
    if (call === null) return false;
    this.#waitsForApp = true;
    this.#abortRequest = call.abort;
    this.#await(head, call.response, null);
    return true;
  }

  #passAgain(head: Buffer, authority: Authority): void {
    this.#unread = this.#unread === null ? head : Buffer.concat([head, this.#unread]);
    this.#isPassedNext = true;
    this.#authority = authority;
    this.#state = 'reading';
    this.#advance();
  }

  #respond(send: () => AfterResponse): void {
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
    sendBody(this.#output, open, this.#extendTimeout)
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
    if (!this.#clientEnded) this.#shared.log.warn({ err: error }, 'response aborted');
    this.#socket.terminate();
  }

  #refuse(failure: Failure): void {
    this.#afterResponse(sendMalformedError(this.#output, this.#shared, failure));
    this.#finishTurn();
  }

  #pass(head: RequestHead, bytes: Buffer, at: number): number | null {
    const { passThroughClients: clients } = this.#shared;
    if (clients === null) {
      this.#afterResponse(sendError(this.#output, this.#shared, head, notAllowed));
      return head.end;
    }
    this.#output.flush();
    if (!this.#output.isEmpty) {
      this.#neededBytes = Number.POSITIVE_INFINITY;
      return null;
    }
    this.#state = 'passing';
    this.#isPassedNext = false;
    this.#passThrough ??= new PassThrough(this.#client, {
      owner: { address: this.#peer, scheme: this.#shared.scheme },
      clients,
      events: {
        onDone: (isLast) => this.#respond(() => (isLast ? 'last' : 'next')),
        onTunnel: () => this.#openTunnel(),
        onServerEnd: this.#extendTimeout,
        onEnd: () => this.#halfClose(),
        onError: (error) => {
          this.#shared.log.error({ err: error }, 'pass-through failed');
          this.#stopPassing(fail('unavailable'));
        },
      },
    });
    this.#passThrough.start(originForm(bytes, head, at), {
      method: head.request.method,
      body: head.body,
      isLast: () => head.isLast || this.#shared.isStopping,
    });
    return head.end;
  }

  #passBody(): void {
    const passThrough = this.#passThrough;
    if (this.#unread !== null && passThrough !== null) {
      const { length } = this.#unread;
      const end = passThrough.sendBody(this.#unread);
      this.#unread = end === length ? null : this.#unread.subarray(end);
      if (passThrough.isMalformed) {
        this.#stopPassing(fail('validation_failed', { detail: 'The body is not chunked correctly.' }));
        return;
      }
    }
    if (this.#clientEnded) passThrough?.clientEnded();
    if ((this.#unread?.length ?? 0) >= headBytesMax) this.#client.hold();
    else this.#client.release();
    passThrough?.finish();
  }

  #openTunnel(): void {
    this.#state = 'tunnel';
    this.#client.release();
    if (this.#unread !== null) this.#passThrough?.sendBody(this.#unread);
    this.#unread = null;
    if (this.#clientEnded) this.#passThrough?.clientEnded();
  }

  /** A response that has begun can only be cut off. */
  #stopPassing(failure: Failure): void {
    if (!this.#isPassing) return;
    const hasBegun = this.#passThrough?.hasBegunResponse;
    this.#closePassThrough();
    this.#unread = null;
    if (hasBegun) this.terminate();
    else this.#refuse(failure);
  }

  #closePassThrough(): void {
    this.#passThrough?.close();
    this.#passThrough = null;
    this.#client.resume();
  }

  /** An immediate close could discard data that the client has not read yet (RFC 9112 §9.6). */
  #halfClose(): void {
    if (this.#state === 'closed') return;
    this.#output.flush();
    this.#closePassThrough();
    this.#state = 'half-closed';
    this.#unread = null;
    this.#client.release();
    this.#setDeadline(secondsMax.halfClose);
    if (this.#clientEnded) this.#socket.end();
    else this.#socket.shutdown();
  }

  readonly #extendTimeout = () => this.#setDeadline(secondsMax.response);

  #setDeadline(seconds: number): void {
    this.#activeAt = this.#shared.clock.second;
    this.#deadline = this.#activeAt + seconds;
  }
}
