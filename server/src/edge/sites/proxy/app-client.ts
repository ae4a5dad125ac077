import type { StopSignal } from '../../../http/edge-request.ts';
import type { HeaderFields, HeaderList } from '../../../http/headers.ts';
import { createBodyDecoder, findHead, parseHead, type ResponseHead } from './read-response.ts';

/** `fetch` has a thread of its own: waking it takes about as long as the rest of a short request. */
export interface AppClient {
  request(address: string, request: AppRequest): Promise<AppResponse>;
  close(): void;
}

interface AppRequest {
  method: 'GET' | 'HEAD';
  target: string;
  headers: HeaderList;
  signal: StopSignal;
}

export interface AppResponse {
  status: number;
  headers: HeaderFields;
  body: ReadableStream<Uint8Array> | null;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
}

/** Below the 5 s after which Node.js closes an idle connection. */
const idleMsMax = 4_000;
const idlePerAddressMax = 128;
const queuedBytesMax = 256 * 1024;

interface Connection {
  address: string;
  socket: Bun.Socket<Connection> | null;
  exchange: Exchange | null;
  unsent: Buffer | null;
  idleSince: number;
}

interface Exchange {
  receive(bytes: Buffer): void;
  end(error: Error): void;
}

const lostError = () => new Error('The app closed the connection.');

export function createAppClient(): AppClient {
  const idle = new Map<string, Connection[]>();
  const timer = setInterval(() => closeIdle(performance.now() - idleMsMax), 1_000);
  timer.unref();

  function closeIdle(before: number): void {
    for (const [address, connections] of idle) {
      const reusable = connections.filter((connection) => connection.idleSince > before);
      for (const connection of connections) if (!reusable.includes(connection)) connection.socket?.end();
      if (reusable.length > 0) idle.set(address, reusable);
      else idle.delete(address);
    }
  }

  function onEnd(connection: Connection, error: Error): void {
    const { exchange, address } = connection;
    connection.exchange = null;
    const others = idle.get(address)?.filter((other) => other !== connection) ?? [];
    if (others.length > 0) idle.set(address, others);
    else idle.delete(address);
    exchange?.end(error);
  }

  const handlers: Bun.SocketHandler<Connection> = {
    data({ data }, bytes) {
      if (data.exchange) data.exchange.receive(bytes);
      else data.socket?.terminate();
    },
    drain: ({ data }) => write(data),
    end: (socket) => void socket.end(),
    close: ({ data }) => onEnd(data, lostError()),
    error: ({ data }, error) => onEnd(data, error),
  };

  async function open(address: string): Promise<Connection> {
    const { hostname, port } = new URL(`http://${address}`);
    const data: Connection = { address, socket: null, exchange: null, unsent: null, idleSince: 0 };
    data.socket = await Bun.connect({
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 80),
      data,
      socket: handlers,
    });
    return data;
  }

  /** The kernel tries for minutes to connect to a machine that drops packets. */
  function openUnlessAborted(address: string, signal: StopSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      open(address)
        .then((connection) => {
          if (signal.aborted) connection.socket?.terminate();
          resolve(connection);
        }, reject)
        .finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  function release(connection: Connection): void {
    const connections = idle.get(connection.address) ?? [];
    if (connections.length >= idlePerAddressMax) return void connection.socket?.end();
    connection.idleSince = performance.now();
    connections.push(connection);
    idle.set(connection.address, connections);
  }

  return {
    async request(address, request) {
      const pooled = idle.get(address)?.pop();
      if (pooled) {
        try {
          return await send(pooled, request, release);
        } catch (error) {
          // The app may have closed it at the same time.
          if (request.signal.aborted) throw error;
        }
      }
      if (request.signal.aborted) throw request.signal.reason;
      const connection = await openUnlessAborted(address, request.signal);
      if (!request.signal.aborted) return send(connection, request, release);
      connection.socket?.terminate();
      throw request.signal.reason;
    },
    close() {
      clearInterval(timer);
      closeIdle(Number.POSITIVE_INFINITY);
    },
  };
}

function write(connection: Connection): void {
  const { socket, unsent } = connection;
  if (!socket || !unsent) return;
  const sent = socket.write(unsent);
  connection.unsent = sent < unsent.length ? unsent.subarray(Math.max(0, sent)) : null;
}

function send(
  connection: Connection,
  { method, target, headers, signal }: AppRequest,
  release: (connection: Connection) => void,
): Promise<AppResponse> {
  const response = Promise.withResolvers<AppResponse>();
  const { socket } = connection;
  const pieces: Buffer[] = [];
  let queued = 0;
  let isPaused = false;
  let unread: Buffer | null = null;
  let head: ResponseHead | null = null;
  let decoder = createBodyDecoder(0);
  let isWhole = false;
  let failure: Error | null = null;
  let wake = () => {};

  function leave(): void {
    signal.removeEventListener('abort', onAbort);
    connection.exchange = null;
  }

  function fail(error: Error): void {
    if (failure || isWhole) return;
    failure = error;
    leave();
    socket?.terminate();
    response.reject(error);
    wake();
  }

  const onAbort = () =>
    fail(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));

  function finish(isReusable: boolean): void {
    isWhole = true;
    leave();
    if (isPaused) socket?.resume();
    if (isReusable) release(connection);
    else socket?.end();
    wake();
  }

  function decode(bytes: Buffer, { isReusable }: ResponseHead): void {
    const { used, isEnd } = decoder.push(bytes, (piece) => {
      pieces.push(piece);
      queued += piece.length;
    });
    if (isEnd) finish(isReusable && used === bytes.length && connection.unsent === null);
    else if (queued > queuedBytesMax && !isPaused) {
      isPaused = true;
      socket?.pause();
    }
    wake();
  }

  function readHead(bytes: Buffer): void {
    unread = unread ? Buffer.concat([unread, bytes]) : bytes;
    for (let found = findHead(unread); found; found = findHead(unread)) {
      const parsed = parseHead(found.text, method);
      unread = unread.subarray(found.length);
      if (parsed.status < 200 && parsed.status !== 101) continue;
      if (parsed.status === 101) throw new Error('The app switched protocols without being asked.');
      head = parsed;
      decoder = createBodyDecoder(parsed.body);
      decode(unread, parsed);
      response.resolve(toResponse(parsed));
      return;
    }
  }

  function take(): Buffer | undefined {
    const piece = pieces.shift();
    queued -= piece?.length ?? 0;
    if (isPaused && queued <= queuedBytesMax / 2 && !isWhole && !failure) {
      isPaused = false;
      socket?.resume();
    }
    return piece;
  }

  const more = () => new Promise<void>((resolve) => (wake = resolve));

  function toResponse({ status, headers: fields, body }: ResponseHead): AppResponse {
    const createStream = () =>
      new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            while (pieces.length === 0 && !isWhole && !failure) await more();
            const piece = take();
            if (piece) controller.enqueue(piece);
            else if (failure) controller.error(failure);
            else controller.close();
          },
          cancel: () => fail(new Error('The response is not read.')),
        },
        { highWaterMark: 0 },
      );
    let stream: ReadableStream<Uint8Array> | null = null;
    return {
      status,
      headers: fields,
      get body() {
        if (body !== 0) stream ??= createStream();
        return stream;
      },
      async bytes() {
        const all: Buffer[] = [];
        for (;;) {
          for (let piece = take(); piece; piece = take()) all.push(piece);
          if (failure) throw failure;
          if (isWhole)
            return all.length === 1 && all[0] ? (all[0] as Buffer<ArrayBuffer>) : Buffer.concat(all);
          await more();
        }
      },
    };
  }

  connection.exchange = {
    receive(bytes) {
      try {
        if (head) decode(bytes, head);
        else readHead(bytes);
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    },
    end(error) {
      if (head?.body === 'close') finish(false);
      else fail(error);
    },
  };
  signal.addEventListener('abort', onAbort, { once: true });
  connection.unsent = Buffer.from(requestHead(method, target, headers), 'latin1');
  write(connection);
  return response.promise;
}

function requestHead(method: string, target: string, headers: HeaderList): string {
  let text = `${method} ${target} HTTP/1.1\r\n`;
  for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
  return `${text}\r\n`;
}
