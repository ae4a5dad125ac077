import { BrokenPipeError, CliError } from './errors.ts';
import type { Env } from './parse.ts';

/** The world outside, as far as a command may touch it. Tests make their own. */
export interface Io {
  argv: readonly string[];
  env: Env;
  /** Rejects with `EPIPE` when the reader has gone. */
  out(text: string): Promise<void>;
  err(text: string): void;
  /** All of standard input as text. */
  readInput(): Promise<string>;
  isTerminal(stream: 'stdin' | 'stdout' | 'stderr'): Promise<boolean>;
  /** Width of the terminal on standard output, when there is one. */
  terminalColumns(): Promise<number | null>;
  now(): Date;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Opens an address in the person's browser; false when there is none. */
  openBrowser(url: string): Promise<boolean>;
  /** Asks on the terminal; never called without one. */
  confirm(question: string, signal: AbortSignal): Promise<boolean>;
  /** Calls back at the first Ctrl-C. */
  onInterrupt(stop: () => void): void;
}

/**
 * The real outside. Loading node:fs takes as long as the rest of a command, process.stdout or node:tty three
 * times as long; so output goes through Bun.write, and terminals are only looked at closely when there may be one.
 */
export function realIo(argv: readonly string[], env: Env, onInterrupt: Io['onInterrupt']): Io {
  keepLoopbackDirect(env);
  return {
    argv,
    env,
    onInterrupt,
    out: writeOut,
    err: writeErr,
    readInput: () => Bun.stdin.text(),
    isTerminal,
    terminalColumns: async () => process.stdout.columns ?? null,
    now: () => new Date(),
    fetch: (url, init) => fetch(url, init),
    openBrowser: async (url) => (await import('./browser.ts')).openBrowser(url, env),
    confirm: async (question, signal) => (await import('./prompt.ts')).confirm(question, signal),
  };
}

async function writeOut(text: string): Promise<void> {
  try {
    await Bun.write(Bun.stdout, text);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EPIPE') throw new BrokenPipeError();
    throw new CliError('output_failed', 'The output can not be written.', { cause });
  }
}

/** console.error writes at once and puts up with a closed stream. */
function writeErr(text: string): void {
  console.error(text.endsWith('\n') ? text.slice(0, -1) : text);
}

async function isTerminal(stream: 'stdin' | 'stdout' | 'stderr'): Promise<boolean> {
  if (!(await mayBeTerminal(stream))) return false;
  const { isatty } = await import('node:tty');
  return isatty({ stdin: 0, stdout: 1, stderr: 2 }[stream]);
}

/** A terminal is a character device; so is /dev/null, the commonest other one. */
async function mayBeTerminal(stream: 'stdin' | 'stdout' | 'stderr'): Promise<boolean> {
  const linuxNullDevice = 0x103;
  try {
    const entry = await Bun[stream].stat();
    return entry.isCharacterDevice() && !(process.platform === 'linux' && entry.rdev === linuxNullDevice);
  } catch {
    return false;
  }
}

/**
 * A proxy named in the environment is for the world outside; what runs on this machine is reached directly.
 * Bun reads the variables at each request, and offers no other way to say so.
 */
function keepLoopbackDirect(env: Env): void {
  if (!(env.HTTP_PROXY || env.http_proxy || env.HTTPS_PROXY || env.https_proxy)) return;
  const direct = [env.NO_PROXY || env.no_proxy, 'localhost', '127.0.0.1', '::1'].filter(Boolean).join(',');
  process.env.NO_PROXY = direct;
  process.env.no_proxy = direct;
}
