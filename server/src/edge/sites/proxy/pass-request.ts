import { fail } from '../../../core/problem.ts';
import { isRefused } from '../../../drivers/os/listen.ts';
import { type EdgeRequest, type EdgeResponse, Stop } from '../../../http/edge-request.ts';
import { problemResponse } from '../../visitors/site-responses.ts';
import {
  overduePage,
  type PlainPage,
  pageResponse,
  startingPage,
  unavailablePage,
  unreachablePage,
} from '../plain-page.ts';
import type { AppResponse } from './app-client.ts';
import { type WatchedStream, watchedStream } from './deadlines.ts';
import { returnedHeaders } from './passed-headers.ts';
import { type ProxyExchange, type ProxyShared, pickAddress } from './pick-address.ts';

/** Up to this size a response is buffered: a stream costs more, and `Bun.serve` sends it without its length. */
const wholeBytesMax = 64 * 1024;
const bodiless = new Set([204, 205, 304]);

export async function passRequest(
  shared: ProxyShared,
  exchange: ProxyExchange,
): Promise<EdgeResponse | RefusalCode> {
  const failed: string[] = [];
  while (failed.length < sendsMax) {
    const address = await pickAddress(shared, exchange, failed);
    if (address === null) return exchange.app.addresses.length === 0 ? 'app_starting' : 'app_unreachable';
    const attempt = await sendRequest(shared, exchange, address);
    if (attempt !== 'again') return attempt;
    shared.reachable.forget(address);
    failed.push(address);
  }
  return 'app_unreachable';
}
const sendsMax = 3;
/** `fetch` encodes other characters. */
const plainTarget = /^[\x21-\x7e]+$/;

/** `again`: the attempt cannot have had an effect. */
async function sendRequest(
  shared: ProxyShared,
  exchange: ProxyExchange,
  address: string,
): Promise<EdgeResponse | RefusalCode | 'again'> {
  const { whole, request, site } = exchange;
  const { limits } = shared;
  const { method } = request;
  const target = `${request.path}${request.search === '' ? '' : `?${request.search}`}`;
  const isSafe = method === 'GET' || method === 'HEAD';
  const stop = isSafe && plainTarget.test(target) ? new Stop() : new AbortController();
  const sentAt = performance.now();
  let isOverdue = false;
  let isLost = false;
  let isAnswered = false;
  let hasEnded = false;
  let leave: (() => void) | null = null;
  const deadline = shared.deadlines.add({
    ms: exchange.app.firstByteMs ?? limits.firstByteMs,
    over() {
      isOverdue = true;
      stop.abort();
      end();
    },
    // A machine that is gone closes no connections: another instance gets the request.
    async look() {
      if (!isSafe || isAnswered || performance.now() - sentAt < limits.lostMs) return false;
      isLost = !(await shared.reachable.check(address, 'lately')) && !isAnswered;
      return isLost;
    },
  });
  const onGone = () => stop.abort();
  whole.request.signal.addEventListener('abort', onGone, { once: true });
  shared.inFlight.begin(address);
  function end(): void {
    if (hasEnded) return;
    hasEnded = true;
    deadline.end();
    whole.request.signal.removeEventListener('abort', onGone);
    shared.inFlight.end(address);
    leave?.();
  }

  const body = bodyOf(exchange, () => deadline.touch());
  let answered: AppResponse;
  try {
    if (isSafe && stop instanceof Stop) {
      const { headers } = exchange;
      answered = await shared.client.request(address, { method, target, headers, signal: stop });
    } else
      answered = await fetch(`http://${address}${target}`, {
        method,
        headers: [...exchange.headers],
        body: body?.stream ?? null,
        redirect: 'manual',
        signal: (stop as AbortController).signal,
        decompress: false,
        // A body sent on a pooled connection that the app has just closed would be lost.
        keepalive: body === null,
        duplex: 'half',
        // HTTP_PROXY of the environment is not for requests to apps.
        proxy: false,
      } as RequestInit);
  } catch (error) {
    end();
    if (whole.request.signal.aborted) return 'app_unreachable';
    if (isLost) return 'again';
    if (isOverdue) return 'app_timeout';
    if (isSafe || (!body?.hasStarted() && isRefused(error))) return 'again';
    shared.log.info({ err: error, app: site.appId, path: request.path }, 'app did not respond');
    return 'app_unreachable';
  }
  isAnswered = true;
  shared.reachable.note(address);
  deadline.touch(limits.idleMs);
  const pin = () => {
    leave = exchange.slot.pin();
    if (hasEnded) leave();
  };
  return passResponse(shared, exchange, { answered, stop, deadline, end, pin, isOverdue: () => isOverdue });
}

function bodyOf({ whole, request, headers }: ProxyExchange, piece: () => void): WatchedStream | null {
  const { body } = whole.request;
  if (request.method === 'GET' || request.method === 'HEAD') {
    // A body of GET or HEAD is not passed on, and the app must not wait for it.
    headers.delete('content-length');
    return null;
  }
  if (body === null) return null;
  if (headers.get('content-length') === '0') return null;
  return watchedStream(body, { piece, ended: () => {} });
}

interface Answered {
  answered: AppResponse;
  stop: { abort(): void };
  deadline: { touch(ms?: number): void };
  end(): void;
  pin(): void;
  isOverdue(): boolean;
}

async function passResponse(
  shared: ProxyShared,
  exchange: ProxyExchange,
  { answered, stop, deadline, end, pin, isOverdue }: Answered,
): Promise<EdgeResponse | RefusalCode> {
  const { request, whole, site } = exchange;
  const { status } = answered;
  const ms = performance.now() - exchange.startedAt;
  const count = () => shared.count(request.method, status);
  const countBytes = (bytes: number) => shared.countApp(site.appId, status, bytes, ms);
  const { headers, cookies } = returnedHeaders(answered.headers, request.host);
  if (status < 200 || status > 599) {
    stop.abort();
    end();
    return 'app_unreachable';
  }
  const length = answered.headers.get('content-length');
  const isBodiless = request.method === 'HEAD' || bodiless.has(status) || length === '0';
  const isSmall = length !== null && Number(length) <= wholeBytesMax;
  // Reading `body` creates a stream, which a small response does not need.
  if (isBodiless || (!isSmall && answered.body === null)) {
    void answered.body?.cancel();
    end();
    count();
    countBytes(0);
    return { status, headers, cookies, body: null };
  }
  if (isSmall) {
    try {
      const bytes = await answered.bytes();
      count();
      countBytes(bytes.length);
      return { status, headers, cookies, body: bytes };
    } catch {
      // The refusal is counted instead.
      return isOverdue() ? 'app_timeout' : 'app_unreachable';
    } finally {
      end();
    }
  }
  const isLong = answered.headers.get('content-type')?.startsWith('text/event-stream') === true;
  count();
  pin();
  return { status, headers, cookies, body: streamBody() };

  function streamBody(): ReadableStream<Uint8Array> {
    let sent = 0;
    if (isLong) deadline.touch(shared.limits.longIdleMs);
    const watch = shared.deadlines.add({
      ms: Number.POSITIVE_INFINITY,
      over: () => stop.abort(),
      look: async () => (isLong || !whole.isStopping() ? exchange.isOver() : false),
    });
    const { stream } = watchedStream(answered.body as ReadableStream<Uint8Array>, {
      piece(bytes) {
        sent += bytes;
        deadline.touch();
      },
      ended(how) {
        watch.end();
        end();
        countBytes(sent);
        if (how !== 'whole') stop.abort();
      },
    });
    return stream;
  }
}

export type RefusalCode = 'app_starting' | 'app_unreachable' | 'app_timeout' | 'unavailable';

const pages: Readonly<Record<RefusalCode, PlainPage>> = {
  app_starting: startingPage,
  app_unreachable: unreachablePage,
  app_timeout: overduePage,
  unavailable: unavailablePage,
};

export function refusal(request: EdgeRequest, code: RefusalCode): EdgeResponse {
  const wantsPage = request.header('accept')?.includes('text/html');
  return wantsPage ? pageResponse(pages[code], request.method) : problemResponse(request, fail(code));
}
