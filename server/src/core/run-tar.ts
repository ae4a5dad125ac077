import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { TarError } from '@svc/contract/tar.ts';

export interface RunAs {
  uid: number;
  gid: number;
}

export interface Unpacking {
  into: string;
  runAs?: RunAs | undefined;
  signal?: AbortSignal | undefined;
  hasTimes?: boolean;
}

// The server's environment stays out, because tar takes options from TAR_OPTIONS.
const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' };
const ignored = ['--no-same-owner', '--no-same-permissions', '--no-acls', '--no-selinux', '--no-xattrs'];
const outputCharsMax = 2_000;

export async function runTar(
  tar: AsyncIterable<Uint8Array>,
  { into, runAs, signal, hasTimes = false }: Unpacking,
): Promise<void> {
  const options = hasTimes ? ignored : [...ignored, '--touch'];
  // tar enters the folder before it drops the rights to the folder's parents.
  const program = spawn('tar', ['--extract', '--file=-', ...options], {
    ...runAs,
    cwd: into,
    env: environment,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let output = '';
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < outputCharsMax) output += text;
  });
  const ended = Promise.withResolvers<number | null>();
  program.once('error', ended.reject);
  program.once('close', ended.resolve);
  // Awaited below; until then, a rejection must not count as unhandled.
  ended.promise.catch(() => {});
  // tar may exit before it has read all input; its exit code reports why.
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
    const lastLine = output.trim().split('\n').at(-1)?.slice(0, 300);
    if (status !== 0) throw new TarError(`The archive could not be unpacked: ${lastLine}`);
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
    await ended.promise.catch(() => {});
  }
}
