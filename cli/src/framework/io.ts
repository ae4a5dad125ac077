import { BrokenPipeError, CliError } from './errors.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Io {
  argv: readonly string[];
  env: Env;
  /** Rejects with BrokenPipeError when the reader has closed the pipe. Bytes are UTF-8. */
  out(text: string | Uint8Array): Promise<void>;
  err(text: string): void;
  cwd(): string;
  readInput(): Promise<string>;
  inputChunks(): AsyncIterable<Uint8Array>;
  isTerminal(stream: 'stdin' | 'stdout' | 'stderr'): Promise<boolean>;
  terminalColumns(): Promise<number | null>;
  now(): Date;
  fetch(url: string, init: RequestInit): Promise<Response>;
  openBrowser(url: string): Promise<boolean>;
  confirm(question: string, signal: AbortSignal): Promise<boolean>;
  confirmTyped(name: string, signal: AbortSignal): Promise<boolean>;
  /** Asks without showing what is typed. */
  password(question: string, signal: AbortSignal): Promise<string>;
  onInterrupt(stop: () => void): void;
  /** How long a command may still work after Ctrl-C. A second one always ends it. */
  allowAfterInterrupt(ms: number): void;
}

/**
 * Avoids modules that start slowly: loading node:fs takes as long as the rest of a command, process.stdout or node:tty
 * three times as long. So output goes through Bun.write, and node:tty is loaded only for character devices.
 */
export function realIo(
  argv: readonly string[],
  env: Env,
  interrupts: Pick<Io, 'onInterrupt' | 'allowAfterInterrupt'>,
): Io {
  bypassProxyForLoopback(env);
  return {
    argv,
    env,
    ...interrupts,
    out: writeOut,
    err: writeErr,
    cwd: () => process.cwd(),
    readInput: () => Bun.stdin.text(),
    inputChunks: () => Bun.stdin.stream(),
    isTerminal,
    terminalColumns: async () => process.stdout.columns ?? null,
    now: () => new Date(),
    fetch: (url, init) => fetch(url, init),
    openBrowser: (url) => openBrowser(url, env),
    confirm: async (question, signal) => (await import('./prompt.ts')).confirm(question, signal),
    confirmTyped: async (name, signal) => (await import('./prompt.ts')).confirmTyped(name, signal),
    password: async (question, signal) => (await import('./prompt.ts')).password(question, signal),
  };
}

/** Writing nothing would truncate a file that standard output is redirected to. */
function writeOut(text: string | Uint8Array): Promise<void> {
  if (text.length === 0) return Promise.resolve();
  return Bun.write(Bun.stdout, text).then(
    () => undefined,
    (cause) => {
      if (cause instanceof Error && 'code' in cause && cause.code === 'EPIPE') throw new BrokenPipeError();
      throw new CliError('output_failed', 'The output cannot be written.', { cause });
    },
  );
}

let errors: Promise<unknown> = Promise.resolve();

/** Writes in order, without the color that console.error adds on a terminal. Ignores a closed stream. */
function writeErr(text: string): void {
  if (text === '') return;
  errors = errors.then(() => Bun.write(Bun.stderr, text)).catch(() => undefined);
}

export function flushErrors(): Promise<unknown> {
  return errors;
}

type Stream = 'stdin' | 'stdout' | 'stderr';

/** A terminal is a character device, and so is /dev/null, the most common other one. */
function isTerminal(stream: Stream): Promise<boolean> {
  const linuxNullDevice = 0x103;
  return Bun[stream].stat().then(
    (entry) => {
      if (!entry.isCharacterDevice()) return false;
      if (process.platform === 'linux' && entry.rdev === linuxNullDevice) return false;
      return import('node:tty').then(({ isatty }) => isatty({ stdin: 0, stdout: 1, stderr: 2 }[stream]));
    },
    () => false,
  );
}

/** Connects to this machine without the proxy of the environment. Bun reads these variables at each request. */
function bypassProxyForLoopback(env: Env): void {
  if (!(env.HTTP_PROXY || env.http_proxy || env.HTTPS_PROXY || env.https_proxy)) return;
  const direct = [env.NO_PROXY || env.no_proxy, 'localhost', '127.0.0.1', '::1'].filter(Boolean).join(',');
  process.env.NO_PROXY = direct;
  process.env.no_proxy = direct;
}

/** Starts the browser in a session of its own, because a terminal that closes after the command would end it. */
async function openBrowser(url: string, env: Env): Promise<boolean> {
  const program = browserCommand(env);
  if (program === null) return false;
  try {
    const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const;
    const opener = Bun.spawn([...program, url], { ...quiet, detached: true });
    opener.unref();
    return true;
  } catch {
    return false;
  }
}

function browserCommand(env: Env): string[] | null {
  if (env.SSH_CONNECTION) return null;
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : null;
}
