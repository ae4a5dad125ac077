import { dlopen, ptr } from 'bun:ffi';
import { readdirSync, readlinkSync } from 'node:fs';
import { isIPv4, isIPv6 } from 'node:net';

/** Calls of the C library, because neither Bun nor Node gives a listening socket to several processes. Linux only. */
export interface SocketCalls {
  /** Accepts nothing before `listen`: connections are refused. Null if it is not possible. */
  bind(address: { host: string; port: number } | { path: string }): BoundSocket | null;
  listen(fd: number): boolean;
  duplicate(fd: number): number;
  /** The event loop no longer accepts connections from this descriptor; those that it has accepted stay. */
  stopAccepting(fd: number): boolean;
  /** The kernel ignores requests for new connections; those that it has already may be accepted. */
  ignoreNewConnections(fd: number): boolean;
  /** Of the listeners that share a port, the one with this index gets all new connections. */
  selectListener(fd: number, index: number): boolean;
  close(fd: number): void;
}

export interface BoundSocket {
  fd: number;
  port: number;
}

const family = { unix: 1, ipv4: 2, ipv6: 10 };
const stream = 1;
const [nonBlocking, closeOnExec] = [0o4000, 0o2000000];
const [solSocket, reuseAddress, attachFilter, attachReusePortFilter] = [1, 2, 26, 51];
const [protocolIpv6, ipv6Only] = [41, 26];
const epollDelete = 2;
/** The kernel lowers it to `net.core.somaxconn`. */
const backlog = 4_096;

/** The C library by its names: glibc and musl. */
const libraries = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];

const openLibc = (library: string) =>
  dlopen(library, {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    listen: { args: ['i32', 'i32'], returns: 'i32' },
    getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
    dup: { args: ['i32'], returns: 'i32' },
    epoll_ctl: { args: ['i32', 'i32', 'i32', 'ptr'], returns: 'i32' },
    close: { args: ['i32'], returns: 'i32' },
  });

let opened: SocketCalls | null | undefined;

/** Null where these calls are not available. */
export function openSocketCalls(): SocketCalls | null {
  opened ??= process.platform === 'linux' ? findLibrary() : null;
  return opened;
}

function findLibrary(): SocketCalls | null {
  for (const library of libraries)
    try {
      return createSocketCalls(openLibc(library).symbols);
    } catch {
      // Not on this system.
    }
  return null;
}

function createSocketCalls(libc: ReturnType<typeof openLibc>['symbols']): SocketCalls {
  const setOption = (fd: number, level: number, option: number, value: number) => {
    const bytes = new Int32Array([value]);
    libc.setsockopt(fd, level, option, ptr(bytes), bytes.byteLength);
  };
  const attach = (fd: number, option: number, program: readonly Instruction[]) => {
    const bytes = filterBytes(program);
    const argument = new DataView(new ArrayBuffer(16));
    argument.setUint16(0, program.length, true);
    argument.setBigUint64(8, BigInt(ptr(bytes)), true);
    return libc.setsockopt(fd, solSocket, option, ptr(argument), argument.byteLength) === 0;
  };
  return {
    bind(endpoint) {
      const address = socketAddress(endpoint);
      if (address === null) return null;
      const kind = new DataView(address.buffer).getUint16(0, true);
      const fd = libc.socket(kind, stream | nonBlocking | closeOnExec, 0);
      if (fd < 0) return null;
      if (kind !== family.unix) setOption(fd, solSocket, reuseAddress, 1);
      // A listener on `::` takes IPv4 too.
      if (kind === family.ipv6) setOption(fd, protocolIpv6, ipv6Only, 0);
      if (libc.bind(fd, ptr(address), address.byteLength) !== 0) {
        libc.close(fd);
        return null;
      }
      if (kind === family.unix) return { fd, port: 0 };
      const name = new Uint8Array(28);
      libc.getsockname(fd, ptr(name), ptr(new Uint32Array([name.byteLength])));
      return { fd, port: new DataView(name.buffer).getUint16(2) };
    },
    listen: (fd) => libc.listen(fd, backlog) === 0,
    duplicate: (fd) => libc.dup(fd),
    stopAccepting(fd) {
      const event = new Uint8Array(12);
      return epollDescriptors().some((epoll) => libc.epoll_ctl(epoll, epollDelete, fd, ptr(event)) === 0);
    },
    ignoreNewConnections: (fd) => attach(fd, attachFilter, withoutSyn),
    selectListener: (fd, value) => attach(fd, attachReusePortFilter, [{ code: returnValue, value }]),
    close: (fd) => void libc.close(fd),
  };
}

/** An instruction of the kernel's packet filter. */
interface Instruction {
  code: number;
  ifTrue?: number;
  ifFalse?: number;
  value: number;
}

const returnValue = 0x06;

/** It sees the TCP header: packets with the flag SYN are dropped. */
const withoutSyn: Instruction[] = [
  // Load the byte of the flags; without SYN skip an instruction; drop; accept whole.
  { code: 0x30, value: 13 },
  { code: 0x45, ifFalse: 1, value: 0x02 },
  { code: returnValue, value: 0 },
  { code: returnValue, value: 0xffffffff },
];

function filterBytes(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(8 * program.length);
  for (const [at, { code, ifTrue = 0, ifFalse = 0, value }] of program.entries()) {
    const view = new DataView(bytes.buffer, 8 * at);
    view.setUint16(0, code, true);
    view.setUint8(2, ifTrue);
    view.setUint8(3, ifFalse);
    view.setUint32(4, value, true);
  }
  return bytes;
}

function socketAddress(endpoint: { host: string; port: number } | { path: string }): Uint8Array | null {
  if ('path' in endpoint) {
    const path = Buffer.from(endpoint.path);
    const bytes = new Uint8Array(2 + path.length + 1);
    new DataView(bytes.buffer).setUint16(0, family.unix, true);
    bytes.set(path, 2);
    return bytes;
  }
  const { host, port } = endpoint;
  if (!isIPv4(host) && !isIPv6(host)) return null;
  const bytes = new Uint8Array(isIPv4(host) ? 16 : 28);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, isIPv4(host) ? family.ipv4 : family.ipv6, true);
  view.setUint16(2, port);
  if (isIPv4(host)) bytes.set(host.split('.').map(Number), 4);
  else for (const [at, group] of ipv6Groups(host).entries()) view.setUint16(8 + at * 2, group);
  return bytes;
}

function ipv6Groups(host: string): number[] {
  // The URL parser writes IPv4 parts as groups, too.
  const text = new URL(`http://[${host.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const parse = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [before = '', after] = text.split('::');
  const [start, end] = [parse(before), parse(after ?? '')];
  return [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end];
}

function epollDescriptors(): number[] {
  return readdirSync('/proc/self/fd')
    .filter((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`) === 'anon_inode:[eventpoll]';
      } catch {
        return false;
      }
    })
    .map(Number);
}
