import { preferListener } from './prefer-listener.ts';
import type { Answering } from './serve.ts';
import { stopGently } from './stop-gently.ts';
import type { BunServer } from './web-sockets.ts';

/** PEM. */
export interface TlsPair {
  cert: string;
  key: string;
}

export interface HostCertificate extends TlsPair {
  serverName: string;
}

export interface HttpsListener {
  port: number;
  /** Whether the host has a certificate of its own here. */
  hasCertificate(host: string): boolean;
  /** From now on these are shown to those who name such a host, and `otherwise` to all others. */
  use(certificates: readonly HostCertificate[], otherwise: TlsPair): void;
  stop(graceMs: number): Promise<void>;
}

/** For how long one that was replaced still lets handshakes end; above the time after which idle ones are cut. */
const handshakeMsMax = 15_000;
/** Where new connections can not be kept from it. */
const spreadMsMax = 50;
/** What takes longer, such as a large file, goes on for as long as this. */
const replacedMsMax = 3600_000;
const replacedLingerMs = 2_000;
const lingerMs = 200;

interface Listener {
  server: BunServer;
  isReplaced: boolean;
}

/**
 * Bun can not change the certificates of a listener. So a second one is opened on the same port with the new list, and
 * the kernel is told to hand it all that comes. The first ends its connections with their next answer, and is closed
 * when no handshake can be under way on it any more: Bun would cut those.
 */
export function openHttpsListener(options: {
  host: string;
  port: number;
  answering: Answering;
  otherwise: TlsPair;
  /** Asked for hosts with a certificate: one that is no longer served is told so on connections that are still open. */
  isServed: (host: string) => boolean;
  /** For tests. */
  handshakeMs?: number;
}): HttpsListener {
  // A port that is shared can not be found taken: so it is asked for alone first.
  const probe = open(options, options.port, [options.otherwise], { reusePort: false });
  const port = probe.server.port ?? options.port;
  void probe.server.stop(true);
  let current = open(options, port, [options.otherwise], { reusePort: true });
  let shown = nameOf([], options.otherwise);
  let hosts: ReadonlySet<string> = new Set();
  /** In the kernel's order. */
  const listening = [current];
  const retiring = new Map<Listener, Timer>();

  function prefer(listener: Listener): boolean {
    return preferListener(port, listening.indexOf(listener));
  }

  async function retire(listener: Listener, graceMs: number): Promise<void> {
    clearTimeout(retiring.get(listener));
    const ended = stopGently(listener.server, { graceMs, lingerMs: replacedLingerMs });
    // The kernel puts its last one into the place that became free.
    const last = listening.pop();
    if (last && last !== listener) listening[listening.indexOf(listener)] = last;
    if (listening.length > 1) prefer(current);
    await ended;
    retiring.delete(listener);
  }

  return {
    port,
    hasCertificate: (host) => hosts.has(host),
    use(certificates, otherwise) {
      if (nameOf(certificates, otherwise) === shown) return;
      const { cert, key } = otherwise;
      const replaced = current;
      current = open(options, port, [{ cert, key }, ...certificates], { reusePort: true });
      listening.push(current);
      shown = nameOf(certificates, otherwise);
      hosts = new Set(certificates.map(({ serverName }) => serverName));
      replaced.isReplaced = true;
      const wait = prefer(current) ? (options.handshakeMs ?? handshakeMsMax) : spreadMsMax;
      retiring.set(
        replaced,
        setTimeout(() => void retire(replaced, replacedMsMax), wait),
      );
    },
    async stop(graceMs) {
      const replaced = [...retiring.keys()];
      for (const timer of retiring.values()) clearTimeout(timer);
      const all = [current, ...replaced].map(({ server }) => stopGently(server, { graceMs, lingerMs }));
      await Promise.all(all);
    },
  };
}

function open(
  options: { host: string; answering: Answering; isServed: (host: string) => boolean },
  port: number,
  tls: (TlsPair & { serverName?: string })[],
  { reusePort }: { reusePort: boolean },
): Listener {
  const listener: Pick<Listener, 'isReplaced'> = { isReplaced: false };
  const hosts = new Set(tls.map(({ serverName }) => serverName));
  const isMisdirected = (request: Request) => {
    const host = hostOf(request.url);
    return hosts.has(host) && !options.isServed(host);
  };
  const ended = <A extends Response | undefined>(answer: A): A => {
    if (listener.isReplaced) answer?.headers.set('connection', 'close');
    return answer;
  };
  const server = Bun.serve({
    ...options.answering,
    hostname: options.host,
    port,
    reusePort,
    tls,
    fetch: (request, bun) => {
      if (isMisdirected(request))
        return new Response(null, { status: 421, headers: { connection: 'close' } });
      const answer = options.answering.fetch(request, bun);
      return answer instanceof Promise ? answer.then(ended) : ended(answer);
    },
  });
  return Object.assign(listener, { server });
}

/** Bun writes it as the Host header has it, in small letters. */
function hostOf(url: string): string {
  const begin = url.indexOf('://') + 3;
  return url.slice(begin, url.indexOf('/', begin)).replace(/:\d+$/, '');
}

/** Keys are new with each certificate, so certificates tell lists apart. */
function nameOf(certificates: readonly HostCertificate[], otherwise: TlsPair): string {
  const names = certificates.map(({ serverName, cert }) => `${serverName} ${Bun.hash(cert)}`).sort();
  return [Bun.hash(otherwise.cert), ...names].join('\n');
}
