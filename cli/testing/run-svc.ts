import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../src/cli.ts';
import type { Io } from '../src/io.ts';

export interface Ran {
  exit: number;
  out: string;
  err: string;
}

export interface RunOptions {
  env?: Record<string, string | undefined>;
  /** The folder one stands in; nowhere unless said, so that no file there counts. */
  cwd?: string;
  input?: string;
  terminal?: boolean;
  columns?: number;
  confirm?: boolean;
  now?: Date;
  /** Called once the command runs; fires Ctrl-C. */
  interrupt?: (stop: () => void) => void;
}

/** Runs the tool inside the test, with a world of its own around it. */
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
    confirm: async () => options.confirm ?? false,
    confirmTyped: async () => options.confirm ?? false,
    onInterrupt: (stop) => options.interrupt?.(stop),
  };
  ran.exit = await runCli(io);
  return ran;
}

const folders: string[] = [];
/** A folder of its own for the files of one test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  folders.push(folder);
  return folder;
}

/** For `afterAll`. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export async function writeLogin(
  dir: string,
  baseUrl: string,
  login: Record<string, unknown> = {},
): Promise<void> {
  await Bun.write(join(dir, 'config.json'), JSON.stringify({ profiles: { default: { base_url: baseUrl } } }));
  const stored = {
    base_url: baseUrl,
    access_token: 'access-1',
    refresh_token: 'refresh-1',
    expires_at: '2099-01-01T00:00:00Z',
    ...login,
  };
  await Bun.write(join(dir, 'credentials.json'), JSON.stringify({ profiles: { default: stored } }));
}
