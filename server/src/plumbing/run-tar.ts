import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BadArchive } from './tar-header.ts';

/** Who unpacks: nobody who could do harm elsewhere. */
export interface RunAs {
  uid: number;
  gid: number;
}

export interface Unpacking {
  into: string;
  runAs?: RunAs | undefined;
  signal?: AbortSignal | undefined;
}

// It needs nothing of our environment, and what stands in TAR_OPTIONS would be an order to it.
const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' };
/** Owners, permissions beyond the usual and times are not the archive's to say. */
const how = [
  '--no-same-owner',
  '--no-same-permissions',
  '--touch',
  '--no-acls',
  '--no-selinux',
  '--no-xattrs',
];
const saidMax = 2_000;

/** The machine's own tar, which gets what we have looked at and nothing else. */
export async function runTar(
  tar: AsyncIterable<Uint8Array>,
  { into, runAs, signal }: Unpacking,
): Promise<void> {
  // The folder is entered before the rights to its parents are given up.
  const program = spawn('tar', ['--extract', '--file=-', ...how], {
    ...runAs,
    cwd: into,
    env: environment,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let said = '';
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < saidMax) said += text;
  });
  const ended = Promise.withResolvers<number | null>();
  program.once('error', ended.reject);
  program.once('close', ended.resolve);
  // Looked at below; until then it must not count as nobody's.
  ended.promise.catch(() => {});
  // It may end before it has read all; how it ended tells why.
  program.stdin.on('error', () => {});
  const stop = () => program.kill('SIGKILL');
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for await (const piece of tar) {
      signal?.throwIfAborted();
      if (program.exitCode !== null || program.stdin.destroyed) break;
      if (!program.stdin.write(piece)) await Promise.race([once(program.stdin, 'drain'), ended.promise]);
    }
    program.stdin.end();
    const status = await ended.promise;
    signal?.throwIfAborted();
    if (status !== 0) throw new BadArchive(`The archive could not be unpacked: ${lastLine(said)}`);
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
    // Nothing writes to the folder any more once this has ended.
    await ended.promise.catch(() => {});
  }
}

function lastLine(said: string): string {
  return said.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
}
