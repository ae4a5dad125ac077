/**
 * The part of a command that parsing, help and completion need. Programs extend it with what a command does:
 * `svc` in `command.ts`, `svc-admin` in `server/src/admin/command.ts`.
 */
export interface Declaration<
  F extends Flags = Flags,
  P extends readonly Positional[] = readonly Positional[],
> {
  words: string;
  summary: string;
  description?: string;
  /** `mutate` previews unless --execute is given; `act` starts or changes something on the server at once; `local` does neither. */
  kind: 'read' | 'mutate' | 'act' | 'local';
  positionals?: P;
  flags?: F;
  oneRequired?: readonly (readonly string[])[];
  check?(args: Args<F, P>): string | undefined;
  timeoutDefault?: string;
  /** Keys are arguments to type after the words of the command; values describe what that line does. */
  examples?: Readonly<Record<string, string>>;
}

export interface Positional {
  name: string;
  summary: string;
  optional?: true;
  repeated?: true;
  values?: readonly string[];
}

export type Flags = Readonly<Record<string, Flag>>;
export type Flag = FlagKind & FlagTraits;

type FlagKind =
  | { type: 'string' }
  | { type: 'boolean' }
  | { type: 'integer'; min?: number; max?: number }
  /** `min` and `max` as typed, `6s`; the value is in milliseconds. */
  | { type: 'duration'; min?: string; max?: string }
  | { type: 'time' }
  | { type: 'enum'; values: readonly string[] }
  /** Comma-separated; a second occurrence adds to the list. */
  | { type: 'list'; values?: readonly string[] };

interface FlagTraits {
  summary: string;
  placeholder?: string;
  short?: string;
  alias?: readonly string[];
  filled?: true;
  env?: string;
  manifest?: 'app';
  required?: true;
  requiredUnless?: readonly string[];
  default?: string | number | boolean;
  hidden?: true;
  repeated?: true;
  retired?: string;
  winsOver?: readonly string[];
  excludes?: readonly string[];
  requires?: readonly string[];
}

export interface Args<F extends Flags = Flags, P extends readonly Positional[] = readonly Positional[]> {
  flags: FlagValues<F>;
  positionals: PositionalValues<P>;
}

export type FlagValues<F extends Flags> = {
  -readonly [N in keyof F]: F[N] extends { required: true } | { default: unknown }
    ? Value<F[N]>
    : Value<F[N]> | undefined;
};

type Value<F extends Flag> = F extends { type: 'list' } | { repeated: true } ? One<F>[] : One<F>;

type One<F extends Flag> = F extends { values: readonly (infer V)[] }
  ? V
  : F extends { type: 'boolean' }
    ? boolean
    : F extends { type: 'integer' | 'duration' }
      ? number
      : string;

type PositionalValues<P extends readonly Positional[]> = {
  [I in P[number] as I['name']]: I extends { repeated: true }
    ? string[]
    : I extends { optional: true }
      ? string | undefined
      : string;
};
