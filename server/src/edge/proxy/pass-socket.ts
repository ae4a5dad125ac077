import { type ClientSocket, type SocketEnds, socketBacklogMax } from '../../plumbing/web-sockets.ts';
import type { Course, ProxyShared } from './create-proxy.ts';
import { pickAddress } from './pick-address.ts';
import type { RefusalCode } from './refusal.ts';

/** Made anew for the app's side of it. */
const handshakeNames = [
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-extensions', 'sec-websocket-protocol'],
  ...['content-length', 'accept-encoding'],
];
const goingAway = 1001;
const tryLater = 1013;

/** Opens one to the app first, then to the client: a client whose app refuses is told so by an answer. */
export async function passSocket(
  shared: ProxyShared,
  course: Course,
): Promise<Response | RefusalCode | undefined> {
  const { whole, request, site } = course;
  const address = await pickAddress(shared, course);
  if (address === null) return course.app.addresses.length === 0 ? 'app_starting' : 'app_unreachable';
  const search = request.search === '' ? '' : `?${request.search}`;
  const protocols = splitList(request.header('sec-websocket-protocol'));
  for (const name of handshakeNames) course.headers.delete(name);
  const app = new WebSocket(`ws://${address}${request.path}${search}`, {
    headers: Object.fromEntries(course.headers),
    ...(protocols.length > 0 ? { protocols } : {}),
  } as never);
  app.binaryType = 'nodebuffer' as never;
  shared.underWay.begin(address);
  const opened = await opening(app, shared.limits.firstByteMs, whole.request.signal);
  if (opened !== 'open') {
    app.close();
    shared.underWay.end(address);
    return typeof opened === 'number' ? refused(opened, request.requestId()) : opened;
  }
  shared.reachable.note(address);
  const leave = course.place.keep();
  const ends = joined(shared, course, app, () => {
    shared.underWay.end(address);
    leave();
  });
  const protocol: Record<string, string> = app.protocol ? { 'sec-websocket-protocol': app.protocol } : {};
  shared.count(request.method, 101);
  shared.countOf(site.appId, 101, 0, performance.now() - course.begun);
  if (whole.upgrade(ends, { ...protocol, 'x-request-id': request.requestId() })) return undefined;
  ends.closed(goingAway, '');
  return 'app_unreachable';
}

/** As the app answered; what it said with it is not told by the client that was used. */
function refused(status: number, requestId: string): Response | RefusalCode {
  if (status < 400 || status > 499) return 'app_unreachable';
  return new Response(null, { status, headers: { 'x-request-id': requestId } });
}

function splitList(value: string | null): string[] {
  return (value?.split(',') ?? []).map((item) => item.trim()).filter((item) => item !== '');
}

/** `open`, the status that the app refused with, or why it could not be asked. */
async function opening(
  app: WebSocket,
  ms: number,
  gone: AbortSignal,
): Promise<'open' | number | RefusalCode> {
  const end = Promise.withResolvers<'open' | number | RefusalCode>();
  const timer = setTimeout(() => end.resolve('app_timeout'), ms);
  const onGone = () => end.resolve('app_unreachable');
  gone.addEventListener('abort', onGone, { once: true });
  app.onopen = () => end.resolve('open');
  app.onerror = (event) => {
    const said = 'message' in event ? String(event.message) : '';
    const status = /Expected 101 status code: (\d{3})/.exec(said)?.[1];
    end.resolve(status === undefined ? 'app_unreachable' : Number(status));
  };
  app.onclose = () => end.resolve('app_unreachable');
  try {
    return await end.promise;
  } finally {
    clearTimeout(timer);
    gone.removeEventListener('abort', onGone);
  }
}

/** What one side says, the other hears; what ends one, ends the other, with the same words. */
function joined(shared: ProxyShared, course: Course, app: WebSocket, ended: () => void): SocketEnds {
  let client: ClientSocket | null = null;
  let isClosed = false;
  /** The app may speak before its client listens. */
  const early: (string | Buffer)[] = [];
  const deadline = shared.deadlines.add({
    ms: shared.limits.longIdleMs,
    over: () => close(goingAway, ''),
    look: course.isOver,
  });

  function close(code: number, reason: string): void {
    if (isClosed) return;
    isClosed = true;
    deadline.end();
    ended();
    closeApp(app, code, reason);
    if (isSayable(code)) client?.close(code, reason);
    else if (code === abnormal) client?.terminate();
    else client?.close();
  }

  function toClient(data: string | Buffer): void {
    deadline.touch();
    if (client === null) early.push(data);
    else client.send(data);
  }

  app.onmessage = ({ data }) => toClient(data as string | Buffer);
  app.onclose = ({ code, reason }) => close(code, reason);
  app.onerror = () => {};
  app.addEventListener('ping' as never, () => deadline.touch());
  return {
    opened(socket) {
      client = socket;
      if (isClosed) socket.close(goingAway);
      else for (const data of early.splice(0)) socket.send(data);
    },
    message(data) {
      deadline.touch();
      app.send(data as never);
      if (app.bufferedAmount > socketBacklogMax) close(tryLater, 'The app takes in less than it is sent.');
    },
    ping(data) {
      deadline.touch();
      (app as unknown as { ping(data: Buffer): void }).ping(data);
    },
    closed: close,
  };
}

/** No status was said; the connection was lost. */
const noStatus = 1005;
const abnormal = 1006;

function isSayable(code: number): boolean {
  return code !== noStatus && code !== abnormal && code !== 1004 && code !== 1015;
}

function closeApp(app: WebSocket, code: number, reason: string): void {
  if (app.readyState === WebSocket.CLOSED) return;
  if (isSayable(code)) app.close(code, reason);
  else if (code === abnormal) (app as unknown as { terminate(): void }).terminate();
  else app.close();
}
