import type { Client } from '@svc/contract/client.ts';
import type { Args, Command } from './command.ts';
import type { OutputFormat } from './flags.ts';
import type { Io } from './io.ts';
import type { MutationMode } from './mutation.ts';
import type { Session } from './session.ts';

/** What a command works with. */
export interface Ctx {
  io: Io;
  globals: Globals;
  /** How a mutating command was asked to run. */
  mutation: MutationMode;
  /** Fires when the command's time is over, or at Ctrl-C; its reason is the error to end with. */
  signal: AbortSignal;
  /** Talk that can wait: with `--json` it is held back, and dropped when an error must stand alone. */
  note(text: string): void;
  /** Talk that people wait for. */
  say(text: string): void;
  session(): Promise<Session>;
  client(): Promise<Client>;
  /** The command that some words name, for commands about commands; a usage error when none. */
  findCommand(words: readonly string[]): Promise<Command>;
}

export interface Globals {
  tenant?: string | undefined;
  profile?: string | undefined;
  timeoutMs: number;
  format: OutputFormat;
  quiet: boolean;
  verbose: boolean;
}

/** A line that has been understood. */
export interface Line {
  command: Command;
  args: Args;
  globals: Omit<Globals, 'timeoutMs'> & { timeoutMs?: number };
  mutation: MutationMode;
  notices: readonly string[];
}

/** How far a run has come; what an error report can go by. */
export interface Run {
  io: Io;
  words: string;
  args?: Args;
  ctx?: OpenContext;
}

export interface OpenContext extends Ctx {
  /** Writes the notes that were held back. */
  flushNotes(): void;
}
