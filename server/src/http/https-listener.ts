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
  /** On a socket that processes share, nothing is accepted before. */
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

/** Bun cannot change certificates: a second listener takes new connections, the first ends its open handshakes. */
export function openHttpsListener(options: HttpsListenerOptions): HttpsListener {
  const calls = openSocketCalls();
  if (options.descriptor !== undefined && calls)
    return shareHttpsListener(options, options.descriptor, calls);
  // Opened without `reusePort` first: a shared port would not report that it is in use.
  const probe = Bun.listen({ hostname: options.host, port: options.port, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  let current = openListener(options, port, [], options.defaultCertificate);
  let currentKey = certificatesKey([], options.defaultCertificate);
  let hosts: ReadonlySet<string> = new Set();
  const listening = [current];
  const retiring = new Map<RawListener, Timer>();

  const preferCurrent = () =>
    current.fd !== null && calls?.selectListener(current.fd, listening.indexOf(current)) === true;

  async function retire(listener: RawListener, graceMs: number): Promise<void> {
    clearTimeout(retiring.get(listener));
    const ended = listener.stop(graceMs);
    // The kernel moves its last listener into the free slot.
    const last = listening.pop();
    if (last && last !== listener) listening[listening.indexOf(listener)] = last;
    if (listening.length > 1) preferCurrent();
    await ended;
    retiring.delete(listener);
  }

  return {
    port,
    hasCertificate: (host) => hosts.has(host),
    setCertificates(certificates, defaultCertificate) {
      if (certificatesKey(certificates, defaultCertificate) === currentKey) return;
      const replaced = current;
      current = openListener(options, port, certificates, defaultCertificate);
      listening.push(current);
      currentKey = certificatesKey(certificates, defaultCertificate);
      hosts = new Set(certificates.map(({ serverName }) => serverName));
      replaced.closeAfterResponses();
      const wait = preferCurrent() ? (options.handshakeMs ?? handshakeMsMax) : unpreferredMsMax;
      const timer = setTimeout(() => void retire(replaced, replacedMsMax), wait);
      retiring.set(replaced, timer);
    },
    accept() {},
    async stop(graceMs, how) {
      const replaced = [...retiring.keys()];
      for (const timer of retiring.values()) clearTimeout(timer);
      await Promise.all([current, ...replaced].map((listener) => listener.stop(graceMs, how)));
    },
  };
}

/** Each set of certificates has a duplicate of the descriptor, and only the newest accepts connections. */
function shareHttpsListener(
  options: HttpsListenerOptions,
  descriptor: number,
  calls: SocketCalls,
): HttpsListener {
  let certificates: readonly HostCertificate[] = [];
  let { defaultCertificate } = options;
  let hosts: ReadonlySet<string> = new Set();
  let current: { listener: RawListener; fd: number } | null = null;
  const retiring = new Map<RawListener, Timer>();

  function accept(): void {
    const replaced = current;
    const fd = calls.duplicate(descriptor);
    const listener = openListener(
      { ...options, descriptor: fd },
      options.port,
      certificates,
      defaultCertificate,
    );
    current = { listener, fd };
    if (!replaced) return;
    replaced.listener.closeAfterResponses();
    const wait = calls.stopAccepting(replaced.fd)
      ? (options.handshakeMs ?? handshakeMsMax)
      : unpreferredMsMax;
    const retire = async () => {
      await replaced.listener.stop(replacedMsMax);
      retiring.delete(replaced.listener);
    };
    const timer = setTimeout(() => void retire(), wait);
    retiring.set(replaced.listener, timer);
  }

  return {
    port: options.port,
    hasCertificate: (host) => hosts.has(host),
    setCertificates(next, nextDefault) {
      const isSame = certificatesKey(next, nextDefault) === certificatesKey(certificates, defaultCertificate);
      certificates = next;
      defaultCertificate = nextDefault;
      hosts = new Set(next.map(({ serverName }) => serverName));
      if (current && !isSame) accept();
    },
    accept,
    async stop(graceMs, how) {
      for (const timer of retiring.values()) clearTimeout(timer);
      // The socket is open as long as anybody has it, and would keep new connections waiting while responses end.
      if (how === 'soon') setTimeout(() => calls.close(descriptor), acceptMs);
      const listeners = [...(current ? [current.listener] : []), ...retiring.keys()];
      await Promise.all(listeners.map((listener) => listener.stop(graceMs, how)));
    },
  };
}

function openListener(
  options: HttpsListenerOptions,
  port: number,
  certificates: readonly HostCertificate[],
  defaultCertificate: TlsKeyPair,
): RawListener {
  const hosts = new Set(certificates.map(({ serverName }) => serverName));
  const { cert, key } = defaultCertificate;
  return listenRaw({
    ...options,
    port,
    reusePort: options.descriptor === undefined,
    tls: { cert, key, hosts: certificates },
    accepts: (host) => !hosts.has(host) || options.isServed(host),
  });
}

function certificatesKey(certificates: readonly HostCertificate[], defaultCertificate: TlsKeyPair): string {
  const names = certificates.map(({ serverName, cert }) => `${serverName} ${Bun.hash(cert)}`).sort();
  return [Bun.hash(defaultCertificate.cert), ...names].join('\n');
}
