import type { EdgeResponse, StopSignal } from '../../../http/edge-request.ts';
import {
  type ServerWebSocket,
  socketBacklogBytesMax,
  type WebSocketCallbacks,
} from '../../../http/listener.ts';
import type { RefusalCode } from './pass-request.ts';
import { type ProxyExchange, type ProxyShared, pickAddress } from './pick-address.ts';

const handshakeNames = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'content-length',
  'accept-encoding',
];
const goingAway = 1001;
const tryLater = 1013;

/** Connects to the app first, so that a refusal of the app becomes the response of the client. */
export async function passSocket(
  shared: ProxyShared,
  exchange: ProxyExchange,
): Promise<EdgeResponse | RefusalCode | undefined> {
  const { whole, request, site } = exchange;
  const address = await pickAddress(shared, exchange);
  if (address === null) return exchange.app.addresses.length === 0 ? 'app_starting' : 'app_unreachable';
  const search = request.search === '' ? '' : `?${request.search}`;
  const protocols = splitList(request.header('sec-websocket-protocol'));
  for (const name of handshakeNames) exchange.headers.delete(name);
  const app = new WebSocket(`ws://${address}${request.path}${search}`, {
    headers: Object.fromEntries(exchange.headers),
    ...(protocols.length > 0 ? { protocols } : {}),
  } as never);
  app.binaryType = 'nodebuffer' as never;
  shared.inFlight.begin(address);
  const opened = await waitUntilOpen(app, shared.limits.firstByteMs, whole.request.signal);
  if (opened !== 'open') {
    app.close();
    shared.inFlight.end(address);
    return typeof opened === 'number' ? refusalResponse(opened) : opened;
  }
  shared.reachable.note(address);
  const leave = exchange.slot.pin();
  const ends = connectSockets(shared, exchange, app, () => {
    shared.inFlight.end(address);
    leave();
  });
  const protocol: Record<string, string> = app.protocol ? { 'sec-websocket-protocol': app.protocol } : {};
  shared.count(request.method, 101);
  shared.countApp(site.appId, 101, 0, performance.now() - exchange.startedAt);
  if (whole.upgrade(ends, { ...protocol, 'x-request-id': request.requestId() })) return undefined;
  ends.onClose(goingAway, '');
  return 'app_unreachable';
}

/** The WebSocket client does not expose the body of a refusal. */
function refusalResponse(status: number): EdgeResponse | RefusalCode {
  if (status < 400 || status > 499) return 'app_unreachable';
  return { status, headers: {}, body: null };
}

function splitList(value: string | null): string[] {
  return (value?.split(',') ?? []).map((item) => item.trim()).filter((item) => item !== '');
}

async function waitUntilOpen(
  app: WebSocket,
  ms: number,
  gone: StopSignal,
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

function connectSockets(
  shared: ProxyShared,
  exchange: ProxyExchange,
  app: WebSocket,
  ended: () => void,
): WebSocketCallbacks {
  let client: ServerWebSocket | null = null;
  let isClosed = false;
  const early: (string | Buffer)[] = [];
  const deadline = shared.deadlines.add({
    ms: shared.limits.longIdleMs,
    over: () => close(goingAway, ''),
    look: exchange.isOver,
  });

  function close(code: number, reason: string): void {
    if (isClosed) return;
    isClosed = true;
    deadline.end();
    ended();
    closeApp(app, code, reason);
    if (isSendable(code)) client?.close(code, reason);
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
    onOpen(socket) {
      client = socket;
      if (isClosed) socket.close(goingAway);
      else for (const data of early.splice(0)) socket.send(data);
    },
    onMessage(data) {
      deadline.touch();
      app.send(data as never);
      if (app.bufferedAmount > socketBacklogBytesMax) close(tryLater, 'The app reads too slowly.');
    },
    onPing(data) {
      deadline.touch();
      (app as unknown as { ping(data: Buffer): void }).ping(data);
    },
    onClose: close,
  };
}

/** Reserved codes that cannot be sent (RFC 6455, 7.4.1). */
const noStatus = 1005;
const abnormal = 1006;

function isSendable(code: number): boolean {
  return code !== noStatus && code !== abnormal && code !== 1004 && code !== 1015;
}

function closeApp(app: WebSocket, code: number, reason: string): void {
  if (app.readyState === WebSocket.CLOSED) return;
  if (isSendable(code)) app.close(code, reason);
  else if (code === abnormal) (app as unknown as { terminate(): void }).terminate();
  else app.close();
}
