import type { Client } from '@svc/contract/client.ts';
import type { Command } from './command.ts';
import type { Args } from './framework/declaration.ts';
import type { Io } from './framework/io.ts';
import type { OutputFormat } from './global-flags.ts';
import type { MutationMode } from './mutation.ts';
import type { Session } from './session/session.ts';

export interface Ctx {
  io: Io;
  globals: Globals;
  mutation: MutationMode;
  signal: AbortSignal;
  /** A note on standard error: with `--json` it is deferred, and dropped when an error is reported. */
  note(text: string): void;
  say(text: string): void;
  session(): Promise<Session>;
  client(): Promise<Client>;
  findCommand(words: readonly string[]): Promise<Command>;
}

export interface Globals {
  tenant?: string | undefined;
  profile?: string | undefined;
  timeoutMs: number;
  format: OutputFormat;
  wide?: boolean | undefined;
  columns?: readonly string[] | undefined;
  noHeaders?: boolean;
  jq?: string | undefined;
  quiet: boolean;
  verbose: boolean;
}

export interface Line {
  command: Command;
  args: Args;
  globals: Omit<Globals, 'timeoutMs'> & { timeoutMs?: number };
  mutation: MutationMode;
  notices: readonly string[];
}

export interface Run {
  io: Io;
  words: string;
  command?: Command;
  args?: Args;
  ctx?: OpenContext;
}

export interface OpenContext extends Ctx {
  flushNotes(): void;
  /** Notes of this run that were not shown yet: for `warnings` of JSON. */
  warnings(): readonly string[];
}
