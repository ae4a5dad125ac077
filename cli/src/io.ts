import type { Env } from './parse.ts';

/** The world outside, as far as a command may touch it. `main.ts` makes the real one, tests make their own. */
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
