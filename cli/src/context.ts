import type { Client } from '@svc/contract/client.ts';
import type { Command } from './command.ts';
import { CliError } from './errors.ts';
import type { OutputFormat } from './flags.ts';
import type { Io } from './io.ts';
import type { MutationMode } from './mutation.ts';
import type { Session } from './session.ts';
import { tooLate } from './waiting.ts';

/** What a command works with. */
export interface Ctx {
  io: Io;
  globals: Globals;
  /** How a mutating command was asked to run; previews otherwise. */
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
  findCommand: FindCommand;
}

export type FindCommand = (words: readonly string[]) => Promise<Command>;

export interface Globals {
  tenant?: string;
  profile?: string;
  timeoutMs: number;
  format: OutputFormat;
  quiet: boolean;
  verbose: boolean;
}

export interface OpenContext extends Ctx {
  /** Writes the notes that were held back. */
  flushNotes(): void;
  close(): void;
}

export function createContext(
  io: Io,
  globals: Globals,
  mutation: MutationMode,
  findCommand: FindCommand,
): OpenContext {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(tooLate(globals.timeoutMs)), globals.timeoutMs);
  timer.unref();
  const interrupted = () => ending.abort(new CliError('interrupted', 'Interrupted.'));
  if (io.interrupt.aborted) interrupted();
  else io.interrupt.addEventListener('abort', interrupted, { once: true });
  let held: string[] = [];
  let session: Promise<Session> | undefined;
  const ctx: OpenContext = {
    io,
    globals,
    mutation,
    findCommand,
    signal: ending.signal,
    note(text) {
      if (globals.quiet) return;
      if (globals.format === 'table') io.err(`${text}\n`);
      else held.push(text);
    },
    say(text) {
      if (!globals.quiet) io.err(`${text}\n`);
    },
    session() {
      session ??= import('./session.ts').then(({ openSession }) => openSession(ctx));
      return session;
    },
    async client() {
      return (await ctx.session()).client;
    },
    flushNotes() {
      for (const text of held) io.err(`${text}\n`);
      held = [];
    },
    close: () => clearTimeout(timer),
  };
  return ctx;
}
