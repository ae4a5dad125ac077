import { dlopen, ptr } from 'bun:ffi';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type BunServer, stopGracefully } from './listener.ts';
import type { ServeHandlers } from './serve.ts';

export interface TlsKeyPair {
  cert: string;
  key: string;
}

export interface HostCertificate extends TlsKeyPair {
  serverName: string;
}

export interface HttpsListener {
  port: number;
  hasCertificate(host: string): boolean;
  setCertificates(certificates: readonly HostCertificate[], defaultCertificate: TlsKeyPair): void;
  stop(graceMs: number): Promise<void>;
}

/** How long a replaced listener finishes handshakes; above the idle timeout of connections. */
const handshakeMsMax = 15_000;
/** The same, where the kernel cannot direct new connections to the new listener. */
const unpreferredMsMax = 50;
const replacedMsMax = 3600_000;
const replacedIdleMs = 2_000;
const idleMs = 200;

interface Listener {
  server: BunServer;
  isReplaced: boolean;
}

/**
 * Bun cannot change the certificates of a listener: open a second one on the same port, let the kernel direct
 * new connections to it, and stop the first when no handshake can be open on it, because Bun would cut those.
 */
export function openHttpsListener(options: {
  host: string;
  port: number;
  handlers: ServeHandlers;
  defaultCertificate: TlsKeyPair;
  isServed: (host: string) => boolean;
  handshakeMs?: number;
}): HttpsListener {
  // Opened without `reusePort` first: a shared port would not report that it is in use.
  const probe = openListener(options, options.port, [options.defaultCertificate], { reusePort: false });
  const port = probe.server.port ?? options.port;
  void probe.server.stop(true);
  let current = openListener(options, port, [options.defaultCertificate], { reusePort: true });
  let currentKey = certificatesKey([], options.defaultCertificate);
  let hosts: ReadonlySet<string> = new Set();
  /** In the order of the kernel's list. */
  const listening = [current];
  const retiring = new Map<Listener, Timer>();

  const preferCurrent = () => preferListener(port, listening.indexOf(current));

  async function retire(listener: Listener, graceMs: number): Promise<void> {
    clearTimeout(retiring.get(listener));
    const ended = stopGracefully(listener.server, { graceMs, idleMs: replacedIdleMs });
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
      const { cert, key } = defaultCertificate;
      const replaced = current;
      current = openListener(options, port, [{ cert, key }, ...certificates], { reusePort: true });
      listening.push(current);
      currentKey = certificatesKey(certificates, defaultCertificate);
      hosts = new Set(certificates.map(({ serverName }) => serverName));
      replaced.isReplaced = true;
      const wait = preferCurrent() ? (options.handshakeMs ?? handshakeMsMax) : unpreferredMsMax;
      retiring.set(
        replaced,
        setTimeout(() => void retire(replaced, replacedMsMax), wait),
      );
    },
    async stop(graceMs) {
      const replaced = [...retiring.keys()];
      for (const timer of retiring.values()) clearTimeout(timer);
      await Promise.all(
        [current, ...replaced].map(({ server }) => stopGracefully(server, { graceMs, idleMs })),
      );
    },
  };
}

function openListener(
  options: { host: string; handlers: ServeHandlers; isServed: (host: string) => boolean },
  port: number,
  tls: (TlsKeyPair & { serverName?: string })[],
  { reusePort }: { reusePort: boolean },
): Listener {
  const listener: Pick<Listener, 'isReplaced'> = { isReplaced: false };
  const hosts = new Set(tls.map(({ serverName }) => serverName));
  const withClose = <A extends Response | undefined>(answer: A): A => {
    if (listener.isReplaced) answer?.headers.set('connection', 'close');
    return answer;
  };
  const server = Bun.serve({
    ...options.handlers,
    hostname: options.host,
    port,
    reusePort,
    tls,
    fetch: (request, bun) => {
      const host = urlHost(request.url);
      if (hosts.has(host) && !options.isServed(host))
        return new Response(null, { status: 421, headers: { connection: 'close' } });
      const answer = options.handlers.fetch(request, bun);
      return answer instanceof Promise ? answer.then(withClose) : withClose(answer);
    },
  });
  return Object.assign(listener, { server });
}

function urlHost(url: string): string {
  const begin = url.indexOf('://') + 3;
  return url.slice(begin, url.indexOf('/', begin)).replace(/:\d+$/, '');
}

function certificatesKey(certificates: readonly HostCertificate[], defaultCertificate: TlsKeyPair): string {
  const names = certificates.map(({ serverName, cert }) => `${serverName} ${Bun.hash(cert)}`).sort();
  return [Bun.hash(defaultCertificate.cert), ...names].join('\n');
}

/** `SO_ATTACH_REUSEPORT_CBPF`, of `SOL_SOCKET`. */
const [solSocket, attachProgram] = [1, 51];
const returnConstant = 0x06;

/**
 * Attaches a one-instruction BPF program that selects the socket by index. False where the system does not
 * support that.
 */
function preferListener(port: number, index: number): boolean {
  try {
    const fd = findListener(port);
    if (fd === null) return false;
    const program = new DataView(new ArrayBuffer(8));
    program.setUint16(0, returnConstant, true);
    program.setUint32(4, index, true);
    const argument = new DataView(new ArrayBuffer(16));
    argument.setUint16(0, 1, true);
    argument.setBigUint64(8, BigInt(ptr(program)), true);
    libc ??= openLibc();
    return libc.symbols.setsockopt(fd, solSocket, attachProgram, ptr(argument), argument.byteLength) === 0;
  } catch {
    return false;
  }
}

/** Any listener of the port, since they share the program. Bun does not expose the descriptor of its socket. */
function findListener(port: number): number | null {
  const inodes = new Set<string>();
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readFileSync(`/proc/self/net/${table}`, 'latin1').split('\n')) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === '0A' && inode && Number.parseInt(local?.split(':')[1] ?? '', 16) === port)
        inodes.add(`socket:[${inode}]`);
    }
  }
  if (inodes.size === 0) return null;
  for (const name of readdirSync('/proc/self/fd')) if (inodes.has(linkTarget(name))) return Number(name);
  return null;
}

function linkTarget(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

const openLibc = () =>
  dlopen('libc.so.6', { setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' } });
let libc: ReturnType<typeof openLibc> | undefined;
