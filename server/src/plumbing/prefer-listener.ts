import { dlopen, ptr } from 'bun:ffi';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** `SO_ATTACH_REUSEPORT_CBPF`, of `SOL_SOCKET`. */
const [solSocket, attachProgram] = [1, 51];
const returnConstant = 0x06;

/**
 * Of several listeners of this process on one port, the one at the place given (in the order in which the kernel has
 * them) gets all that comes from now on. Linux lets anybody who listens decide that, by a program of one instruction.
 * Answers false where it can not be done; then what comes is spread among them.
 */
export function preferListener(port: number, place: number): boolean {
  try {
    const fd = findListener(port);
    if (fd === null) return false;
    const program = new DataView(new ArrayBuffer(8));
    program.setUint16(0, returnConstant, true);
    program.setUint32(4, place, true);
    const argument = new DataView(new ArrayBuffer(16));
    argument.setUint16(0, 1, true);
    argument.setBigUint64(8, BigInt(ptr(program)), true);
    return system().setsockopt(fd, solSocket, attachProgram, ptr(argument), argument.byteLength) === 0;
  } catch {
    // Another system, or none of /proc.
    return false;
  }
}

/** Any of them: they share what is set on one. Bun does not say which of its files is the socket. */
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
  for (const name of readdirSync('/proc/self/fd')) if (inodes.has(targetOf(name))) return Number(name);
  return null;
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // Closed meanwhile.
    return '';
  }
}

let opened: ReturnType<typeof openSystem> | undefined;
function system() {
  opened ??= openSystem();
  return opened.symbols;
}

function openSystem() {
  return dlopen('libc.so.6', {
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
  });
}
