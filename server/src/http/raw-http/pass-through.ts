import type { Socket } from 'bun';
import type { PassThroughClient } from '../handlers.ts';
import { Pipe, type PipeEnd } from './pipe.ts';
import { BodyReader, ResponseReader } from './response-reader.ts';

interface PassThroughEvents {
  onDone(isLast: boolean): void;
  onTunnel(): void;
  onServerEnd(): void;
  onEnd(): void;
  onError(error: unknown): void;
}

/** One request of one client at a time, with the ends of request and response. No other client uses the connection. */
export class PassThrough {
  readonly #client: PipeEnd;
  readonly #owner: PassThroughClient;
  readonly #clients: PassThroughClients;
  readonly #events: PassThroughEvents;
  #server: Socket<undefined> | null = null;
  #toServer: Pipe | null = null;
  #toClient: Pipe | null = null;
  #body = new BodyReader(0);
  #response: ResponseReader | null = null;
  #isClosed = false;
  isTunnel = false;
  isServerGone = false;

  constructor(
    client: PipeEnd,
    {
      owner,
      clients,
      events,
    }: { owner: PassThroughClient; clients: PassThroughClients; events: PassThroughEvents },
  ) {
    this.#client = client;
    this.#owner = owner;
    this.#clients = clients;
    this.#events = events;
  }

  get isMalformed(): boolean {
    return this.#body.isMalformed;
  }

  get hasBegunResponse(): boolean {
    return this.#response?.hasBegun === true;
  }

  /** `isLast` is read when the response begins. */
  start(head: Buffer, request: { method: string; body: number | 'chunked'; isLast: () => boolean }): void {
    this.#body = new BodyReader(request.body);
    this.#response = new ResponseReader(request);
    this.isServerGone = false;
    if (this.#toServer === null) this.#connect();
    this.#toServer?.push(head);
  }

  /** Returns the index after the last byte of the request's body. The bytes before it are not there any more. */
  sendBody(bytes: Buffer): number {
    const end = this.isTunnel ? bytes.length : this.#body.read(bytes, 0);
    if (end > 0 && !this.isMalformed)
      this.#toServer?.push(end === bytes.length ? bytes : bytes.subarray(0, end), true);
    return end;
  }

  clientDrained(): void {
    this.#toClient?.drain();
    this.finish();
  }

  /** The general server cancels the request, as it does for its own clients. */
  clientEnded(): void {
    this.#toServer?.end();
  }

  close(): void {
    this.#isClosed = true;
    this.#server?.terminate();
  }

  #connect(): void {
    const toServer = new Pipe(this.#client, () => this.#server?.shutdown());
    this.#toServer = toServer;
    Bun.connect<undefined>({
      ...this.#clients.fallback,
      allowHalfOpen: true,
      socket: {
        open: (socket) => {
          if (this.#isClosed) return void socket.terminate();
          this.#server = socket;
          socket.setNoDelay(true);
          this.#toClient = new Pipe(socket, this.#events.onEnd);
          this.#toClient.open(this.#client);
          // Before the first byte is sent: the server looks the client up with each request.
          this.#clients.add(socket, this.#owner);
          toServer.open(socket);
        },
        data: (socket, bytes) => {
          if (socket === this.#server) this.#receive(bytes);
        },
        drain: () => toServer.drain(),
        end: (socket) => {
          this.#serverEnded(socket);
          socket.end();
        },
        close: (socket) => {
          this.#clients.remove(socket);
          this.#serverEnded(socket);
        },
      },
    }).catch(this.#events.onError);
  }

  #receive(bytes: Buffer): void {
    const response = this.#response;
    if (this.#isClosed) return;
    if (response === null) {
      this.close();
      return;
    }
    const sent = response.read(bytes);
    if (sent.length > 0) this.#toClient?.push(sent, true);
    if (response.state === 'malformed')
      this.#events.onError(new Error('malformed response of the general server'));
    else if (response.state === 'tunnel' && !this.isTunnel) {
      this.isTunnel = true;
      this.#events.onTunnel();
    } else this.finish();
  }

  /** A response that comes before the end of the request's body may be the last: then nobody reads the rest. */
  finish(): void {
    const response = this.#response;
    if (response?.state !== 'done' || this.#isClosed || this.#toClient?.isEmpty === false) return;
    if (!this.#body.isDone && !response.isLast) return;
    this.#response = null;
    if (response.isLast) this.close();
    this.#events.onDone(response.isLast);
  }

  /** An earlier connection may close after the next one was opened. */
  #serverEnded(socket: Socket<undefined>): void {
    if (this.#isClosed || this.#server !== socket) return;
    this.#server = null;
    this.#toServer = null;
    if (this.#response === null) return;
    this.isServerGone = true;
    this.#events.onServerEnd();
    if (this.#response.state === 'until-close') {
      this.#response.state = 'done';
      this.finish();
    } else this.#toClient?.end();
  }
}

/** Clients of passed-through connections: to the general server, they all come from this machine. */
export interface PassThroughClients {
  fallback: { hostname: string; port: number };
  add(local: LocalEnd, client: PassThroughClient): void;
  remove(local: LocalEnd): void;
  find(peer: { address: string; port: number } | null): PassThroughClient | undefined;
}

interface LocalEnd {
  localAddress: string;
  localPort: number;
}

export function createPassThroughClients(port = 0): PassThroughClients {
  const fallback = { hostname: '127.0.0.1', port };
  /** By the port of this end. All connections are on the loopback address. */
  const clients = new Map<number, PassThroughClient>();
  /** A closed socket no longer knows its port. */
  const added = new WeakMap<LocalEnd, { port: number; client: PassThroughClient }>();
  return {
    fallback,
    add(local, client) {
      added.set(local, { port: local.localPort, client });
      clients.set(local.localPort, client);
    },
    remove(local) {
      const { port, client } = added.get(local) ?? {};
      // The port may already belong to another connection.
      if (port !== undefined && clients.get(port) === client) clients.delete(port);
    },
    find: (peer) => (peer?.address === fallback.hostname ? clients.get(peer.port) : undefined),
  };
}
