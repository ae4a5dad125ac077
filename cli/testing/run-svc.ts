import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Problem } from '@svc/contract/problem.ts';
import { runCli } from '../src/cli.ts';
import type { Io } from '../src/framework/io.ts';
import { AdvisedProblemError } from '../src/session/problems.ts';

export interface Ran {
  exit: number;
  out: string;
  err: string;
}

export interface RunOptions {
  env?: Record<string, string | undefined>;
  /** A folder that does not exist by default, so that no file has an effect. */
  cwd?: string;
  input?: string;
  terminal?: boolean;
  columns?: number;
  confirm?: boolean;
  now?: Date;
  /** Called once the command runs; `stop` is Ctrl-C, `ran` the output so far. */
  interrupt?: (stop: () => void, ran: Readonly<Ran>) => void;
}

/** Runs the tool in this process, with an environment of its own. */
export async function runSvc(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const ran: Ran = { exit: -1, out: '', err: '' };
  const decoder = new TextDecoder();
  const io: Io = {
    argv,
    env: { HOME: '/nonexistent', LANG: 'C.UTF-8', ...options.env },
    out: async (text) => {
      ran.out += typeof text === 'string' ? text : decoder.decode(text, { stream: true });
    },
    err: (text) => {
      ran.err += text;
    },
    cwd: () => options.cwd ?? '/nonexistent',
    readInput: async () => options.input ?? '',
    inputChunks: () => new Blob([options.input ?? '']).stream(),
    isTerminal: async () => options.terminal ?? false,
    terminalColumns: async () => options.columns ?? 80,
    now: () => options.now ?? new Date(),
    fetch: (url, init) => fetch(url, init),
    openBrowser: async () => false,
    confirm: async () => options.confirm ?? rejectPrompt(options),
    confirmTyped: async () => options.confirm ?? rejectPrompt(options),
    password: async () => options.input ?? '',
    onInterrupt: (stop) => options.interrupt?.(stop, ran),
    allowAfterInterrupt: () => {},
  };
  ran.exit = await runCli(io);
  return ran;
}

function rejectPrompt({ terminal = false }: RunOptions): boolean {
  if (!terminal) throw new Error('The command prompts without a terminal.');
  return false;
}

/** Ctrl-C once the command is so far. */
export const interruptWhen =
  (isTime: (ran: Readonly<Ran>) => boolean): RunOptions['interrupt'] =>
  (stop, ran) => {
    const timer = setInterval(() => {
      if (!isTime(ran)) return;
      clearInterval(timer);
      stop();
    }, 5);
  };

const folders: string[] = [];

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  folders.push(folder);
  return folder;
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

type Files = Readonly<Record<string, string | Buffer>>;

export function folderWith(files: Files): string {
  const folder = newFolder();
  writeFiles(folder, files);
  return folder;
}

export function writeFiles(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

export async function writeLogin(dir: string, base_url: string, login: object = {}): Promise<void> {
  const tokens = { access_token: 'access-1', refresh_token: 'refresh-1', expires_at: '2099-01-01T00:00:00Z' };
  const write = (name: string, profile: object) =>
    Bun.write(join(dir, name), JSON.stringify({ profiles: { default: profile } }));
  await write('config.json', { base_url });
  await write('credentials.json', { base_url, ...tokens, ...login });
}

/** The problem that `work` fails with. */
export function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (cause) {
    if (cause instanceof AdvisedProblemError) return cause.problem;
    throw cause;
  }
  throw new Error('It did not fail.');
}
