import type { Course, ProxyShared } from './create-proxy.ts';
import { returnedHeaders } from './passed-headers.ts';
import { pickAddress } from './pick-address.ts';
import type { RefusalCode } from './refusal.ts';
import { type WatchedStream, watchedStream } from './streams.ts';

/** Up to here an answer of known length is sent whole: of a stream the listener can not tell the length. */
const wholeBytesMax = 64 * 1024;
const bodiless = new Set([204, 205, 304]);

/** Asks the app and streams both ways; a code where it did not answer. */
export async function passRequest(shared: ProxyShared, course: Course): Promise<Response | RefusalCode> {
  for (let tries = 1; ; tries++) {
    const address = await pickAddress(shared, course);
    if (address === null) return course.app.addresses.length === 0 ? 'app_starting' : 'app_unreachable';
    const attempt = await ask(shared, course, address);
    if (attempt !== 'again') return attempt;
    shared.reachable.forget(address);
    if (tries > 1) return 'app_unreachable';
  }
}

/** `again`: nothing of it can have had an effect. */
async function ask(
  shared: ProxyShared,
  course: Course,
  address: string,
): Promise<Response | RefusalCode | 'again'> {
  const { whole, request, site } = course;
  const { limits } = shared;
  const stop = new AbortController();
  let isOverdue = false;
  let hasEnded = false;
  let leave: (() => void) | null = null;
  const deadline = shared.deadlines.add({
    ms: limits.firstByteMs,
    over() {
      isOverdue = true;
      stop.abort();
      end();
    },
  });
  const onGone = () => stop.abort();
  whole.request.signal.addEventListener('abort', onGone, { once: true });
  shared.underWay.begin(address);
  /** However it ends, once. */
  function end(): void {
    if (hasEnded) return;
    hasEnded = true;
    deadline.end();
    whole.request.signal.removeEventListener('abort', onGone);
    shared.underWay.end(address);
    leave?.();
  }

  const body = bodyOf(course, () => deadline.touch());
  let answered: Response;
  try {
    answered = await fetch(
      `http://${address}${request.path}${request.search === '' ? '' : `?${request.search}`}`,
      {
        method: request.method,
        headers: course.headers,
        body: body?.stream ?? null,
        redirect: 'manual',
        signal: stop.signal,
        decompress: false,
        // What was sent on a connection that the other side has just closed is lost, and can not be sent again.
        keepalive: body === null,
        duplex: 'half',
        // One that the environment names is for the world outside: it must not hear what apps are told.
        proxy: false,
      } as RequestInit,
    );
  } catch (error) {
    end();
    if (isOverdue) return 'app_timeout';
    if (whole.request.signal.aborted) return 'app_unreachable';
    const isSafe = request.method === 'GET' || request.method === 'HEAD';
    if (isSafe || (!body?.hasBegun() && isRefused(error))) return 'again';
    shared.log.info({ err: error, app: site.appId, path: request.path }, 'an app did not answer');
    return 'app_unreachable';
  }
  shared.reachable.note(address);
  deadline.touch(limits.idleMs);
  const keep = () => {
    leave = course.place.keep();
    if (hasEnded) leave();
  };
  return returned(shared, course, { answered, stop, deadline, end, keep, isOverdue: () => isOverdue });
}

/** Of bytes whose kind is not said the listener would say one itself, and browsers would save what they can show. */
function bodyFor(bytes: Uint8Array<ArrayBuffer>, headers: Headers): BodyInit {
  if (headers.get('content-type')) return bytes;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

function bodyOf({ whole, request, headers }: Course, piece: () => void): WatchedStream | null {
  const { body } = whole.request;
  if (body === null) return null;
  if (request.method === 'GET' || request.method === 'HEAD') {
    // Such a body means nothing and is not passed on; an app must not wait for it.
    headers.delete('content-length');
    return null;
  }
  if (headers.get('content-length') === '0') return null;
  return watchedStream(body, { piece, ended: () => {} });
}

function isRefused(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ConnectionRefused' || code === 'ECONNREFUSED';
}

interface Answered {
  answered: Response;
  stop: AbortController;
  deadline: { touch(ms?: number): void };
  end(): void;
  /** Its place is its own until the end. */
  keep(): void;
  isOverdue(): boolean;
}

async function returned(
  shared: ProxyShared,
  course: Course,
  { answered, stop, deadline, end, keep, isOverdue }: Answered,
): Promise<Response | RefusalCode> {
  const { request, whole, site } = course;
  const { status } = answered;
  const ms = performance.now() - course.begun;
  const count = () => shared.count(request.method, status);
  const note = (bytes: number) => shared.countOf(site.appId, status, bytes, ms);
  const headers = returnedHeaders(answered.headers, { host: request.host, requestId: request.requestId() });
  if (whole.isStopping()) headers.set('connection', 'close');
  if (status < 200 || status > 599) {
    stop.abort();
    end();
    return 'app_unreachable';
  }
  if (request.method === 'HEAD' || bodiless.has(status) || answered.body === null) {
    end();
    count();
    note(0);
    return new Response(null, { status, headers });
  }
  const length = answered.headers.get('content-length');
  if (length !== null && Number(length) <= wholeBytesMax) {
    try {
      const bytes = await answered.bytes();
      count();
      note(bytes.length);
      return new Response(bodyFor(bytes, headers), { status, headers });
    } catch {
      // What is said in its place is counted instead.
      return isOverdue() ? 'app_timeout' : 'app_unreachable';
    } finally {
      end();
    }
  }
  const isLong = answered.headers.get('content-type')?.startsWith('text/event-stream') === true;
  count();
  keep();
  return new Response(streamed(), { status, headers });

  function streamed(): ReadableStream<Uint8Array> {
    let sent = 0;
    if (isLong) deadline.touch(shared.limits.longIdleMs);
    // Asked now and then whether it may still be open.
    const watch = shared.deadlines.add({
      ms: Number.POSITIVE_INFINITY,
      over: () => stop.abort(),
      look: async () => (isLong || !whole.isStopping() ? course.isOver() : false),
    });
    const { stream } = watchedStream(answered.body as ReadableStream<Uint8Array>, {
      piece(bytes) {
        sent += bytes;
        deadline.touch();
      },
      ended(how) {
        watch.end();
        end();
        note(sent);
        if (how !== 'whole') stop.abort();
      },
    });
    return stream;
  }
}
