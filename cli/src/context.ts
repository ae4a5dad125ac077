import type { Client } from '@svc/contract/client.ts';
import type { Command } from './command.ts';
import { CliError, tooLate } from './errors.ts';
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
  findCommand: FindCommand;
}

export type FindCommand = (words: readonly string[]) => Promise<Command>;

export interface Globals {
  tenant?: string | undefined;
  profile?: string | undefined;
  timeoutMs: number;
  format: OutputFormat;
  quiet: boolean;
  verbose: boolean;
}

export interface OpenContext extends Ctx {
  /** Writes the notes that were held back. */
  flushNotes(): void;
}

export function createContext(input: Pick<Ctx, 'io' | 'globals' | 'mutation' | 'findCommand'>): OpenContext {
  const { io, globals } = input;
  const ending = new AbortController();
  setTimeout(() => ending.abort(tooLate(globals.timeoutMs)), globals.timeoutMs).unref();
  io.onInterrupt(() => ending.abort(new CliError('interrupted', 'Interrupted.')));
  const held: string[] = [];
  let session: Promise<Session> | undefined;
  const ctx: OpenContext = {
    ...input,
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
    client: () => ctx.session().then((opened) => opened.client),
    flushNotes() {
      for (const text of held.splice(0)) io.err(`${text}\n`);
    },
  };
  return ctx;
}
