import tls from 'node:tls';
import {
  acceptMs,
  type HostCertificate,
  listenRaw,
  type RawListener,
  type RawListenerOptions,
  type StopMode,
  type TlsKeyPair,
} from './raw-http/raw-listener.ts';
import { openSocketCalls, type SocketCalls } from './socket-calls.ts';

export type { HostCertificate, TlsKeyPair };

export interface HttpsListener {
  port: number;
  hasCertificate(host: string): boolean;
  setCertificates(certificates: readonly HostCertificate[], defaultCertificate: TlsKeyPair): void;
  /** Nothing is accepted before. */
  accept(): void;
  stop(graceMs: number, how?: StopMode): Promise<void>;
}

/** How long a replaced listener finishes handshakes; above the idle timeout of connections. */
const handshakeMsMax = 15_000;
/** The same, where the kernel cannot direct new connections to the new listener. */
const unpreferredMsMax = 50;
const replacedMsMax = 3600_000;

type HttpsListenerOptions = RawListenerOptions & {
  defaultCertificate: TlsKeyPair;
  isServed: (host: string) => boolean;
  handshakeMs?: number;
};

/** How listeners with different certificates take turns at one address. */
interface Address {
  port: number;
  listen(hosts: readonly HostCertificate[], defaultCertificate: TlsKeyPair): RawListener;
  /** The newest listener gets all new connections. False if the kernel cannot do that. */
  preferNewest(replaced: RawListener): boolean;
  remove(listener: RawListener): void;
  close(): void;
}

/** Bun cannot change certificates: a second listener takes new connections, the first ends its open handshakes. */
export function openHttpsListener(options: HttpsListenerOptions): HttpsListener {
  const calls = openSocketCalls();
  const address =
    options.descriptor !== undefined && calls
      ? sharedSocket(options, options.descriptor, calls)
      : ownPort(options, calls);
  let certificates: readonly HostCertificate[] = [];
  let { defaultCertificate } = options;
  let hosts: ReadonlySet<string> = new Set();
  let current: RawListener | null = null;
  const retiring = new Map<RawListener, Timer>();

  function listen(next: readonly HostCertificate[], nextDefault: TlsKeyPair): void {
    const replaced = current;
    requireWhole([{ serverName: 'other hosts', ...nextDefault }, ...next]);
    current = address.listen(next, nextDefault);
    if (!replaced) return;
    replaced.closeAfterResponses();
    const wait = address.preferNewest(replaced) ? (options.handshakeMs ?? handshakeMsMax) : unpreferredMsMax;
    const timer = setTimeout(() => void retire(replaced), wait);
    retiring.set(replaced, timer);
  }

  async function retire(listener: RawListener): Promise<void> {
    const ended = listener.stop(replacedMsMax);
    address.remove(listener);
    await ended;
    retiring.delete(listener);
  }

  return {
    port: address.port,
    hasCertificate: (host) => hosts.has(host),
    setCertificates(next, nextDefault) {
      const isSame = certificatesKey(next, nextDefault) === certificatesKey(certificates, defaultCertificate);
      // If this throws, the certificates before it stay.
      if (current && !isSame) listen(next, nextDefault);
      certificates = next;
      defaultCertificate = nextDefault;
      hosts = new Set(next.map(({ serverName }) => serverName));
    },
    accept: () => listen(certificates, defaultCertificate),
    async stop(graceMs, how) {
      for (const timer of retiring.values()) clearTimeout(timer);
      if (how === 'soon') setTimeout(address.close, acceptMs);
      const listeners = [...(current ? [current] : []), ...retiring.keys()];
      await Promise.all(listeners.map((listener) => listener.stop(graceMs, how)));
    },
  };
}

/** Each listener has a socket of its own at the same port. */
function ownPort(options: HttpsListenerOptions, calls: SocketCalls | null): Address {
  const port = findUnusedPort(options.host, options.port);
  const listening: RawListener[] = [];
  let newest: RawListener | null = null;

  const preferNewest = () =>
    typeof newest?.fd === 'number' && calls?.selectListener(newest.fd, listening.indexOf(newest)) === true;

  return {
    port,
    listen(hosts, defaultCertificate) {
      if (listening.length === 0) findUnusedPort(options.host, port);
      newest = openListener(options, { port, reusePort: true }, hosts, defaultCertificate);
      listening.push(newest);
      return newest;
    },
    preferNewest,
    remove(listener) {
      // The kernel moves its last listener into the free slot.
      const last = listening.pop();
      if (last && last !== listener) listening[listening.indexOf(listener)] = last;
      if (listening.length > 1) preferNewest();
    },
    close() {},
  };
}

/** Without `reusePort`: a shared port would not report that it is in use. */
function findUnusedPort(hostname: string, port: number): number {
  const probe = Bun.listen({ hostname, port, socket: { data() {} } });
  probe.stop(true);
  return probe.port;
}

/** Each listener has a duplicate of the descriptor, and only the newest accepts connections. */
function sharedSocket(options: HttpsListenerOptions, descriptor: number, calls: SocketCalls): Address {
  const duplicates = new Map<RawListener, number>();
  return {
    port: options.port,
    listen(hosts, defaultCertificate) {
      const fd = calls.duplicate(descriptor);
      const listener = openListener(options, { descriptor: fd }, hosts, defaultCertificate);
      duplicates.set(listener, fd);
      return listener;
    },
    preferNewest: (replaced) => calls.stopAccepting(duplicates.get(replaced) ?? -1),
    remove: (listener) => void duplicates.delete(listener),
    // The socket is open as long as anybody has it, and would keep new connections waiting while responses end.
    close: () => calls.close(descriptor),
  };
}

function openListener(
  options: HttpsListenerOptions,
  socket: Pick<RawListenerOptions, 'descriptor' | 'reusePort'> & { port?: number },
  hosts: readonly HostCertificate[],
  { cert, key }: TlsKeyPair,
): RawListener {
  const names = new Set(hosts.map(({ serverName }) => serverName));
  return listenRaw({
    ...options,
    ...socket,
    tls: { cert, key, hosts },
    accepts: (host) => !names.has(host) || options.isServed(host),
  });
}

/** Throws where a certificate is broken: later, a listener would be left behind. Bun keeps what it has read of each. */
function requireWhole(certificates: readonly HostCertificate[]): void {
  const server = tls.createServer();
  for (const { serverName, cert, key } of certificates) server.addContext(serverName, { cert, key });
}

function certificatesKey(certificates: readonly HostCertificate[], defaultCertificate: TlsKeyPair): string {
  const names = certificates.map(({ serverName, cert }) => `${serverName} ${Bun.hash(cert)}`).sort();
  return [Bun.hash(defaultCertificate.cert), ...names].join('\n');
}
