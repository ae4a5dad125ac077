import type { Ctx } from './context.ts';
import { BrokenPipeError, CliError, requestError } from './errors.ts';
import type { Env } from './parse.ts';

/** The world outside, as far as a command may touch it. Tests make their own. */
export interface Io {
  argv: readonly string[];
  env: Env;
  /** Rejects with `EPIPE` when the reader has gone. Bytes are UTF-8. */
  out(text: string | Uint8Array): Promise<void>;
  err(text: string): void;
  /** The folder one stands in. */
  cwd(): string;
  /** All of standard input as text. */
  readInput(): Promise<string>;
  /** Standard input piece by piece, for what may be larger than memory. */
  inputChunks(): AsyncIterable<Uint8Array>;
  isTerminal(stream: 'stdin' | 'stdout' | 'stderr'): Promise<boolean>;
  /** Width of the terminal on standard output, when there is one. */
  terminalColumns(): Promise<number | null>;
  now(): Date;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Opens an address in the person's browser; false when there is none. */
  openBrowser(url: string): Promise<boolean>;
  /** Asks on the terminal; never called without one. */
  confirm(question: string, signal: AbortSignal): Promise<boolean>;
  /** Has the name typed of what is about to be lost. */
  confirmTyped(name: string, signal: AbortSignal): Promise<boolean>;
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
  };
}

function writeOut(text: string | Uint8Array): Promise<void> {
  return Bun.write(Bun.stdout, text).then(
    () => undefined,
    (cause) => {
      if (cause instanceof Error && 'code' in cause && cause.code === 'EPIPE') throw new BrokenPipeError();
      throw new CliError('output_failed', 'The output can not be written.', { cause });
    },
  );
}

let errors: Promise<unknown> = Promise.resolve();

/** In order, and without the red that console.error adds on a terminal. A closed stream is put up with. */
function writeErr(text: string): void {
  errors = errors.then(() => Bun.write(Bun.stderr, text)).catch(() => undefined);
}

/** Resolves when all talk is out. */
export function errorsWritten(): Promise<unknown> {
  return errors;
}

type Stream = 'stdin' | 'stdout' | 'stderr';

/** A terminal is a character device; so is /dev/null, the commonest other one. */
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

/**
 * Starts the browser and does not wait for it: in a session of its own, or it would die with a terminal that closes
 * when the command ends. Over ssh, or without a display, there is none here.
 */
async function openBrowser(url: string, env: Env): Promise<boolean> {
  const program = openerOf(env);
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

function openerOf(env: Env): string[] | null {
  if (env.SSH_CONNECTION) return null;
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : null;
}

/**
 * One request, bounded by the command's time, with its failures turned into ours. The body is read here too, so
 * that nothing can fail any more when the answer is looked at.
 */
export async function request(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  const began = performance.now();
  try {
    const answer = await fetchDirect(ctx, url, init);
    const body = await answer.text();
    if (ctx.globals.verbose) await show(ctx, url, init, began, answer);
    return new Response(body === '' ? null : body, answer);
  } catch (cause) {
    if (ctx.globals.verbose) await show(ctx, url, init, began, null);
    throw requestError(ctx, url, cause);
  }
}

/** The same for an answer that is read piece by piece: whoever reads it meets its failures too. */
export async function openRequest(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  const began = performance.now();
  try {
    const answer = await fetchDirect(ctx, url, init);
    if (ctx.globals.verbose) await show(ctx, url, init, began, answer);
    return answer;
  } catch (cause) {
    if (ctx.globals.verbose) await show(ctx, url, init, began, null);
    throw requestError(ctx, url, cause);
  }
}

/** A redirect is an answer of its own: a login must not follow it to another server. */
function fetchDirect(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  return ctx.io.fetch(url, { ...init, signal: init.signal ?? ctx.signal, redirect: 'manual' });
}

async function show(ctx: Ctx, url: string, init: RequestInit, began: number, answer: Response | null) {
  const { requestLine } = await import('./request-line.ts');
  ctx.io.err(requestLine(url, init.method ?? 'GET', Math.round(performance.now() - began), answer));
}
