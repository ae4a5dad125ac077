import type { Config } from '../config.ts';

/** What a command is given of the world outside. */
export interface AdminIo {
  out(text: string): void;
  err(text: string): void;
  stdin(): Promise<string>;
  /** The same line by line, each as soon as it is there. */
  stdinLines(): AsyncIterable<string>;
  /** Throws a ConfigError; read when first needed, so that help works with any environment. */
  config(): Config;
  /** Called, at once and without waiting, when the process is told to end; the answer takes it back. */
  onInterrupt(undo: () => void): () => void;
}

export interface AdminCtx extends AdminIo {
  /** A line for the person at the terminal; never part of the result, and not said with `--json`. */
  note(line: string): void;
  /** A part of the result that is already known, for who reads along; with `--json` it is in the result alone. */
  say(text: string): void;
  /** Runs another command line, in this process; there is nothing on its standard input. */
  another(argv: readonly string[]): Promise<Result>;
}

export interface Flag {
  means: string;
  /** Absent: the flag takes no value. */
  value?: string;
  oneOf?: readonly string[];
  required?: true;
}

export interface Result {
  /** What `--json` prints. */
  json: Record<string, unknown>;
  /** What people read. */
  text: string;
  exit?: number;
}

export interface Command {
  words: string;
  summary: string;
  args: readonly string[];
  flags: Readonly<Record<string, Flag>>;
  notes?: string;
  load(): Promise<{ run(ctx: AdminCtx, input: never): Promise<Result> }>;
}

type ValueOf<F extends Flag> = F extends { oneOf: readonly (infer T)[] }
  ? T
  : F extends { value: string }
    ? string
    : boolean;

type InputOf<A extends string, F extends Record<string, Flag>> = { [K in A]: string } & {
  [K in keyof F]: F[K] extends { value: string }
    ? F[K] extends { required: true }
      ? ValueOf<F[K]>
      : ValueOf<F[K]> | undefined
    : boolean;
};

/** Checks that the module behind a declaration takes what the declaration gives. */
export function command<const A extends string, const F extends Record<string, Flag>>(declared: {
  words: string;
  summary: string;
  args: readonly A[];
  flags: F;
  notes?: string;
  load(): Promise<{ run(ctx: AdminCtx, input: InputOf<A, F>): Promise<Result> }>;
}): Command {
  return declared;
}

/** The command line itself is wrong: exit 2, before anything is opened. */
export class UsageError extends Error {
  readonly next: string | undefined;

  constructor(message: string, next?: string) {
    super(message);
    this.name = 'UsageError';
    this.next = next;
  }
}
