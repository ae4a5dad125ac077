import type { Socket } from 'bun';
import type { TrustedProxies } from '../client-address.ts';
import type { AppAnswer, Edge, EdgeAnswer } from '../edge-request.ts';
import { Failure, fail } from '../problem.ts';
import type { Authority } from './authority.ts';
import { type HandedOver, handOver } from './hand-over.ts';
import { type Desk, Outlet } from './outlet.ts';
import { type Head, headBytesMax, parseHead } from './parse-head.ts';
import type { PassedOn } from './passed-on.ts';
import { type Answers, type OpenBody, type Sent, sendAnswer, sendFault, sendRefusal } from './send-answer.ts';
import { sendBody } from './send-body.ts';

/** What all connections of a listener share. */
export interface Shared extends Answers {
  edge: () => Edge | null;
  desk: Desk;
  trustedProxies: TrustedProxies;
  passedOn: PassedOn;
  /** Answers that are being waited for, over all connections. */
  waiting: number;
  waitingMax: number;
}

/** For a head to arrive in whole, however it is spread. */
const headSecondsMax = 10;
const keepAliveSecondsMax = 72;
/** For an answer to be made, and for a client to take some of it. */
const answerSecondsMax = 45;
/** For a client to notice that we are done; what it sends until then is dropped. */
const lingerSecondsMax = 2;

/** Requests are answered one after the other; those sent ahead wait, and past a head's worth of them nothing is read. */
export class Connection {
  readonly #socket: Socket<Connection>;
  readonly #shared: Shared;
  readonly #outlet: Outlet;
  /** `finishing`: the last answer is on its way; `lingering`: it has left. */
  #state: 'reading' | 'answering' | 'finishing' | 'lingering' | 'handed-over' | 'closed' = 'reading';
  /** What was read and not yet understood. */
  #unread: Buffer | null = null;
  /** Some of a head is there. */
  #hasBegun = false;
  #isPaused = false;
  #clientEnded = false;
  /** What is unread begins with a request that an app answers. */
  #isForApp = false;
  #authority: Authority | null = null;
  #other: HandedOver | null = null;
  #deadline: number;
  /** The second of what last happened. */
  #since: number;

  constructor(socket: Socket<Connection>, shared: Shared) {
    this.#socket = socket;
    this.#shared = shared;
    this.#outlet = new Outlet(socket, shared.desk);
    this.#since = shared.clock.second;
    this.#deadline = this.#since + headSecondsMax;
  }

  /** Something is under way that a client would miss. */
  get isBusy(): boolean {
    if (this.#state === 'reading') return !this.#outlet.isEmpty || this.#unread !== null;
    return this.#state !== 'lingering' && this.#state !== 'closed';
  }

  /** Some of a head is not yet something asked. */
  get idleSince(): number | null {
    return this.#state === 'reading' && this.#outlet.isEmpty ? this.#since : null;
  }

  /** What the client has not taken, since when; null: nothing waits for it. */
  get stalled(): { bytes: number; since: number } | null {
    return this.#outlet.isEmpty ? null : { bytes: this.#outlet.queuedBytes, since: this.#since };
  }

  data(bytes: Buffer): void {
    if (this.#state === 'handed-over') this.#other?.fromClient(bytes);
    else if (this.#state === 'reading' || this.#state === 'answering') this.#take(bytes);
  }

  #take(bytes: Buffer): void {
    const before = this.#unread;
    this.#unread = before === null ? bytes : Buffer.concat([before, bytes]);
    if (this.#state === 'answering' || !this.#outlet.isEmpty) {
      if (this.#unread.length >= headBytesMax) this.#pause();
      return;
    }
    // Of a head that comes drop by drop, only the end of a line is worth another look.
    if (this.#hasBegun && this.#unread.length < headBytesMax && !bytes.includes(0x0a)) return;
    this.#advance();
  }

  drain(): void {
    this.#other?.clientDrained();
    if (this.#outlet.drain() > 0) this.#giveTime(answerSecondsMax);
    if (this.#outlet.isEmpty && this.#other === null) this.#advance();
  }

  /** The client says no more, but may still listen. */
  ended(): void {
    this.#clientEnded = true;
    if (this.#state === 'lingering') this.#socket.end();
    else if (this.#other !== null) this.#other.clientEnded();
    else this.#advance();
  }

  closed(): void {
    this.#state = 'closed';
    this.#unread = null;
    this.#outlet.close();
    this.#other?.clientClosed();
  }

  /** Once a second. */
  tick(): void {
    if (this.#shared.clock.second < this.#deadline || this.#state === 'handed-over') return;
    if (this.#state !== 'reading' || !this.#outlet.isEmpty) this.#socket.terminate();
    else if (this.#hasBegun) this.#refuse(fail('request_timeout'));
    else this.#linger();
  }

  /** Nothing that has been asked is left unanswered by it, unless `isBusy`. */
  close(): void {
    this.#outlet.flush();
    this.#socket.end();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Answers what is there, until something is to be waited for. */
  #advance(): void {
    const hadBegun = this.#hasBegun;
    let at = 0;
    this.#hasBegun = false;
    const edge = this.#shared.edge();
    while (this.#state === 'reading' && this.#outlet.isEmpty && this.#unread !== null) {
      if (at === this.#unread.length) break;
      const head = this.#isForApp ? 'hand-over' : parseHead(this.#unread, at, this.#authority);
      if (head === null) {
        this.#hasBegun = true;
        // Counted from its first byte, however many more come.
        if (!hadBegun || at > 0) this.#giveTime(headSecondsMax);
        break;
      }
      if (head instanceof Failure) {
        this.#refuse(head);
        return;
      } else if (head === 'hand-over' || !edge?.serves(head.request.host)) {
        this.#outlet.flush();
        // Behind what is still on its way to the client.
        if (!this.#outlet.isEmpty) break;
        this.#handOver(this.#unread.subarray(at));
        return;
      } else {
        const begun = at;
        at = head.end;
        this.#authority = head.authority;
        this.#isForApp = !this.#answer(edge, head, begun);
        if (this.#isForApp) at = begun;
      }
    }
    if (this.#unread !== null) this.#unread = at === this.#unread.length ? null : this.#unread.subarray(at);
    this.#settle();
  }

  /** Lets go what is on the desk, and says what is waited for now. */
  #settle(): void {
    // Only what goes on can wait for the end of the turn.
    if (this.#state === 'reading' && !this.#clientEnded) this.#outlet.leave();
    else this.#outlet.flush();
    if (this.#state === 'answering' || !this.#outlet.isEmpty) {
      this.#giveTime(answerSecondsMax);
    } else if (this.#state === 'finishing' || (this.#state === 'reading' && this.#clientEnded)) {
      this.#linger();
    } else if (this.#state === 'reading') {
      if (!this.#hasBegun) this.#giveTime(keepAliveSecondsMax);
      this.#resume();
    }
  }

  /** False: an app is to be asked, which takes the whole of the request. */
  #answer(edge: Edge, head: Head, begun: number): boolean {
    const shared = this.#shared;
    if (this.#isHttpsAtProxy(head)) head.request.scheme = 'https';
    let answering: ReturnType<Edge['answer']>;
    try {
      answering = edge.answer(head.request);
    } catch (error) {
      this.#sent(sendFault(this.#outlet, shared, head, error));
      return true;
    }
    if (!(answering instanceof Promise)) {
      if ('pass' in answering) return false;
      this.#sent(sendAnswer(this.#outlet, shared, head, answering));
      return true;
    }
    // Asked all the same: what is at hand is answered however many wait.
    if (shared.waiting >= shared.waitingMax) {
      void answering.then(discard, () => {});
      const failure = fail('unavailable', { detail: 'Too many requests at once.' });
      this.#sent(sendFault(this.#outlet, shared, head, failure));
      return true;
    }
    this.#state = 'answering';
    shared.waiting++;
    const bytes = this.#unread?.subarray(begun, head.end) ?? Buffer.alloc(0);
    answering
      .then(
        (answer) => {
          if ('pass' in answer) this.#toApp(bytes);
          else this.#answered(answer, () => sendAnswer(this.#outlet, shared, head, answer));
        },
        (error: unknown) => this.#answered(null, () => sendFault(this.#outlet, shared, head, error)),
      )
      .catch((error: unknown) => this.#breakOff(error));
    return true;
  }

  /** Known only after a while: what was read meanwhile goes along. */
  #toApp(head: Buffer): void {
    this.#shared.waiting--;
    if (this.#state === 'closed') return;
    this.#unread = this.#unread === null ? head : Buffer.concat([head, this.#unread]);
    this.#isForApp = true;
    this.#state = 'reading';
    this.#advance();
  }

  /** Where a proxy ends TLS, the visitor's own connection is the one in front of it. */
  #isHttpsAtProxy({ request }: Head): boolean {
    const sent = request.header('x-forwarded-proto');
    if (sent === null || sent.toLowerCase() !== 'https') return false;
    return this.#shared.trustedProxies.includes(this.#socket.remoteAddress);
  }

  #answered(answer: EdgeAnswer | null, send: () => Sent): void {
    this.#shared.waiting--;
    if (this.#state === 'closed') {
      if (answer) discard(answer);
      return;
    }
    this.#state = 'reading';
    this.#sent(send());
    this.#advance();
  }

  #sent(sent: Sent): void {
    if (sent === 'last') this.#state = 'finishing';
    else if (sent !== 'next') this.#sendBody(sent);
  }

  #sendBody(open: OpenBody): void {
    this.#state = 'answering';
    this.#outlet.flush();
    sendBody(this.#outlet, open, () => this.#giveTime(answerSecondsMax))
      .then(() => {
        if (this.#state === 'closed') return;
        this.#state = open.isLast ? 'finishing' : 'reading';
        this.#advance();
      })
      .catch((error: unknown) => this.#breakOff(error));
  }

  /** Some of an answer may have left: only the end of the connection tells that it is not whole. */
  #breakOff(error: unknown): void {
    if (this.#state === 'closed') return;
    this.#shared.log.warn({ err: error }, 'an answer broke off');
    this.#socket.terminate();
  }

  #refuse(failure: Failure): void {
    this.#sent(sendRefusal(this.#outlet, this.#shared, failure));
    this.#settle();
  }

  #handOver(bytes: Buffer): void {
    const { passedOn, log } = this.#shared;
    this.#state = 'handed-over';
    this.#unread = null;
    // Paused and resumed by whoever has it now, in a state that nobody here knows.
    this.#isPaused = true;
    this.#other = handOver({
      client: this.#socket,
      passedOn,
      finished: () => this.#linger(),
      failed: (error) => {
        log.error({ err: error }, 'a connection could not be handed over');
        if (this.#state === 'closed') return;
        this.#other = null;
        this.#refuse(fail('unavailable'));
      },
    });
    this.#other.fromClient(bytes);
    if (this.#clientEnded) this.#other.clientEnded();
  }

  /** Closed at once, it could take back what the client has not read yet. */
  #linger(): void {
    if (this.#state === 'closed') return;
    this.#outlet.flush();
    this.#state = 'lingering';
    this.#unread = null;
    this.#resume();
    this.#giveTime(lingerSecondsMax);
    if (this.#clientEnded) this.#socket.end();
    else this.#socket.shutdown();
  }

  #giveTime(seconds: number): void {
    this.#since = this.#shared.clock.second;
    this.#deadline = this.#since + seconds;
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

function discard(answer: EdgeAnswer | AppAnswer): void {
  const body = 'pass' in answer ? null : answer.body;
  if (body instanceof ReadableStream) void body.cancel().catch(() => {});
}
