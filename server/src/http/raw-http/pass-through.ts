import type { Socket } from 'bun';

export interface PassThrough {
  fromClient(bytes: Buffer): void;
  clientDrained(): void;
  clientEnded(): void;
  clientClosed(): void;
}

/** Bun's response to a head above its limit. Without the CORS header, pages of other origins could not read it. */
const headTooLarge = Buffer.from('HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n');
const headTooLargeWithCors = Buffer.from(
  `${headTooLarge.toString().trimEnd()}\r\nAccess-Control-Allow-Origin: *\r\n\r\n`,
);

/** The connection is never taken back, so differences between the two parsers cannot be exploited. */
export function openPassThrough(input: {
  client: Socket<unknown>;
  clients: PassThroughClients;
  onEnd(): void;
  onError(error: unknown): void;
}): PassThrough {
  const { client } = input;
  let server: Socket<undefined> | null = null;
  let isClosed = false;
  const toServer = new Pipe(client, () => server?.shutdown());
  let toClient: Pipe | null = null;
  let removeClient = () => {};
  Bun.connect({
    ...input.clients.fallback,
    allowHalfOpen: true,
    socket: {
      open(socket) {
        if (isClosed) return socket.terminate();
        server = socket;
        toClient = new Pipe(socket, input.onEnd);
        toClient.open(client);
        // Before the first byte is sent: the server looks the client up with its first request.
        removeClient = input.clients.add(socket, client.remoteAddress);
        toServer.open(socket);
      },
      data: (_, bytes) => toClient?.push(bytes.equals(headTooLarge) ? headTooLargeWithCors : bytes),
      drain: () => toServer.drain(),
      end: () => toClient?.end(),
      close() {
        removeClient();
        toClient?.end();
      },
    },
  }).catch(input.onError);
  return {
    fromClient: (bytes) => toServer.push(bytes),
    clientDrained: () => toClient?.drain(),
    clientEnded: () => toServer.end(),
    clientClosed() {
      isClosed = true;
      server?.terminate();
    },
  };
}

/** `write` returns fewer bytes than given where the socket accepts no more for now. */
type ByteSink = Pick<Socket<unknown>, 'write'>;
type ByteSource = Pick<Socket<unknown>, 'pause' | 'resume'>;

class Pipe {
  readonly #from: ByteSource;
  readonly #onEnd: () => void;
  #to: ByteSink | null = null;
  #waiting: Buffer[] = [];
  #isPaused = false;
  #isEnded = false;
  #isFinished = false;

  constructor(from: ByteSource, onEnd: () => void) {
    this.#from = from;
    this.#onEnd = onEnd;
  }

  open(to: ByteSink): void {
    this.#to = to;
    this.drain();
  }

  push(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.drain();
  }

  drain(): void {
    const to = this.#to;
    for (let first = this.#waiting[0]; first !== undefined && to !== null; first = this.#waiting[0]) {
      const written = Math.max(0, to.write(first, 0, first.length));
      if (written < first.length) {
        this.#waiting[0] = first.subarray(written);
        break;
      }
      this.#waiting.shift();
    }
    const isBehind = this.#waiting.length > 0;
    if (isBehind !== this.#isPaused) {
      this.#isPaused = isBehind;
      if (isBehind) this.#from.pause();
      else this.#from.resume();
    }
    if (isBehind || !this.#isEnded || this.#isFinished || to === null) return;
    this.#isFinished = true;
    this.#onEnd();
  }

  end(): void {
    this.#isEnded = true;
    this.drain();
  }
}

/** Client addresses of passed-through connections: to the general server, they all come from this machine. */
export interface PassThroughClients {
  fallback: { hostname: string; port: number };
  add(local: { localAddress: string; localPort: number }, client: string): () => void;
  find(peer: { address: string; port: number } | null): string | undefined;
}

export function createPassThroughClients(fallback: PassThroughClients['fallback']): PassThroughClients {
  const clients = new Map<string, string>();
  return {
    fallback,
    add({ localAddress, localPort }, client) {
      const key = endpointKey(localAddress, localPort);
      clients.set(key, client);
      return () => clients.delete(key);
    },
    find: (peer) => (peer === null ? undefined : clients.get(endpointKey(peer.address, peer.port))),
  };
}

function endpointKey(address: string, port: number): string {
  return `${address.replace(/^::ffff:/, '')} ${port}`;
}
