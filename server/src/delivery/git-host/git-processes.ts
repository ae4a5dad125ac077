import { dirname } from 'node:path';
import { fail } from '../../core/problem.ts';
import { createLocalLauncher, type GitLauncher } from '../../drivers/git/git-launcher.ts';
import type { GitChild } from '../../drivers/git/git-sandbox.ts';
import { configEnvironment } from '../../drivers/git/run-git.ts';

export interface GitProcesses {
  read(folder: string, argv: readonly string[], limits?: ReadLimits): Promise<Buffer | null>;
  open(
    folder: string,
    argv: readonly string[],
    more: { env: Record<string, string>; signal: AbortSignal },
  ): GitChild;
}

interface ReadLimits {
  bytesMax?: number;
  overflow?: 'null' | 'truncate';
  input?: string;
}

const readMsMax = 20_000;
const readBytesMax = 16 * 1024 * 1024;
const concurrentReadsMax = 6;

/** Passed by the environment, so that they override each repository's own configuration. */
const settings: Readonly<Record<string, string>> = {
  'safe.directory': '*',
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'protocol.allow': 'never',
  'transfer.fsckObjects': 'true',
  'gc.autoDetach': 'false',
  'pack.threads': '1',
  'pack.windowMemory': '64m',
  'uploadpack.allowFilter': 'true',
  'uploadpack.allowReachableSHA1InWant': 'true',
};

export function createGitProcesses(launcher: GitLauncher = createLocalLauncher()): GitProcesses {
  const program = Bun.which('git');
  const waiting: (() => void)[] = [];
  let reading = 0;

  function start(folder: string, argv: readonly string[], env: Record<string, string>): GitChild {
    if (program === null)
      throw fail('unavailable', {
        detail: 'git is not installed on the server. Ask the operator to install it.',
      });
    return launcher.start({
      argv: [program, ...argv],
      folders: [folder],
      usesNetwork: false,
      env: { ...environment(dirname(program)), ...env },
    });
  }

  async function read(folder: string, argv: readonly string[], limits: ReadLimits = {}) {
    while (reading >= concurrentReadsMax) await new Promise<void>((resolve) => waiting.push(resolve));
    reading++;
    try {
      return await collectOutput(start(folder, [`--git-dir=${folder}`, ...argv], {}), limits);
    } finally {
      reading--;
      waiting.shift()?.();
    }
  }

  return {
    read,
    open(folder, argv, { env, signal }) {
      const child = start(folder, argv, env);
      const end = () => endGracefully(child);
      if (signal.aborted) end();
      signal.addEventListener('abort', end, { once: true });
      child.once('close', () => signal.removeEventListener('abort', end));
      return child;
    },
  };
}

const endMsMax = 2_000;

/** At SIGTERM git removes its lock files first. */
function endGracefully(child: GitChild): void {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), endMsMax);
  child.once('close', () => clearTimeout(timer));
}

function environment(folderOfGit: string): Record<string, string> {
  return {
    PATH: `${folderOfGit}:/usr/bin:/bin`,
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    ...configEnvironment(settings),
  };
}

export function settingsEnvironment(more: Readonly<Record<string, string>>): Record<string, string> {
  return configEnvironment({ ...settings, ...more });
}

function collectOutput(child: GitChild, limits: ReadLimits): Promise<Buffer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | null>();
  const pieces: Buffer[] = [];
  const bytesMax = limits.bytesMax ?? readBytesMax;
  let size = 0;
  const timer = setTimeout(() => child.kill('SIGKILL'), readMsMax);
  child.stdout?.on('data', (piece: Buffer) => {
    size += piece.length;
    if (size > bytesMax) child.kill('SIGKILL');
    if (size - piece.length <= bytesMax) pieces.push(piece);
  });
  child.stderr?.resume();
  // The process may end before it has read its input.
  child.stdin?.on('error', () => {});
  child.stdin?.end(limits.input ?? '');
  child.once('error', reject);
  child.once('close', (code) => {
    const isRead = code === 0 || (limits.overflow === 'truncate' && size > bytesMax);
    resolve(isRead ? Buffer.concat(pieces) : null);
  });
  return promise.finally(() => clearTimeout(timer));
}
