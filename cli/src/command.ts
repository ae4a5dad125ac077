import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { Ctx } from './context.ts';

/**
 * One command, as data. Parsing, help, completion, the reference page, `svc schema` and the tests of its output
 * all derive from this object; a command of the usual kind has no code of its own beyond `input`.
 */
export interface Command<
  S extends Shape = Shape,
  F extends Flags = Flags,
  P extends readonly Positional[] = readonly Positional[],
> {
  /** What is typed after `svc`; also the file's path below `commands/`. */
  words: string;
  summary: string;
  description?: string;
  /** `mutate` previews unless told to execute; `local` changes nothing on the server that a preview could show. */
  kind: 'read' | 'mutate' | 'local';
  positionals?: P;
  flags?: F;
  /** At least one flag or positional of each list must be given. */
  oneRequired?: readonly (readonly string[])[];
  /** Rules that no trait of a flag can say; the text it returns is a usage error. */
  check?(args: Args<F, P>): string | undefined;
  /** Prints every page at once, without being asked to: for lists that are short by nature. */
  pages?: 'all';
  /** Executing asks first, or has the name typed; without a terminal it takes `--yes`. */
  confirm?: Confirmation;
  /** For commands that wait for people or machines; otherwise that of `timeout-default.ts`. */
  timeoutDefault?: string;
  /** Also takes a personal access token from `SVC_API_KEY`; all others need a login. */
  credential?: 'login_or_pat';
  /** What it calls, for the reference page, where that is no endpoint of the contract. */
  calls?: string;
  endpoint?: Endpoint<S>;
  /** A tenant that the input names: after `--tenant` and `SVC_TENANT`, before the `svc.yaml` of the folder. */
  ownTenant?(ctx: Ctx, args: Args<F, P>): Promise<string | undefined>;
  input?(args: InputArgs<F, P>): Input<S> | Promise<Input<S>>;
  /** What is printed, where it is not the answer itself; `output` describes it then. */
  present?(ctx: Ctx, answer: Answer<S>, args: Args<F, P>): unknown;
  /** Waits for what an execution began. It is also given previews, which began nothing. */
  settle?(ctx: Ctx, made: Result, input: Input<S>): Promise<Result>;
  /** The id of what is deleted, where it may be named by a slug: asked for while it is there. */
  deletedId?(ctx: Ctx, input: Input<S>): Promise<string>;
  /** JSON Schema of what `--json` prints, where it is not the endpoint's answer. */
  output?: JsonSchema | (() => Promise<JsonSchema>);
  view?: View;
  /** What people see, where neither a table nor a list of fields would do. */
  text?(answer: Answer<S>, style: Style): string;
  /** For the few that are more than one call. */
  run?(ctx: Ctx, args: Args<F, P>): Promise<Result>;
  examples: readonly Example[];
}

export type Confirmation = true | 'typed';

export interface Example {
  /** As typed, `svc` included. */
  line: string;
  does: string;
  /** Of a command that changes the platform: what this line does there changes nothing, and has no preview. */
  reads?: true;
}

export interface Positional {
  name: string;
  summary: string;
  optional?: true;
  /** Takes all that follow; only the last may. */
  repeated?: true;
  values?: readonly string[];
}

export type Flags = Readonly<Record<string, Flag>>;
export type Flag = FlagKind & FlagTraits;

export type FlagKind =
  | { type: 'string' }
  | { type: 'boolean' }
  | { type: 'integer'; min?: number; max?: number }
  /** `min` and `max` as they are typed, `6s`; the value is in milliseconds. */
  | { type: 'duration'; min?: string; max?: string }
  /** RFC 3339. */
  | { type: 'time' }
  | { type: 'enum'; values: readonly string[] }
  /** Comma-separated; given again, it adds to the list. */
  | { type: 'list'; values?: readonly string[] };

export interface FlagTraits {
  summary: string;
  placeholder?: string;
  /** One letter, typed with one dash. */
  short?: string;
  /** Other long names for the same flag. */
  alias?: readonly string[];
  /** It names something, so that an empty text is a slip. */
  filled?: true;
  /** Read when the flag is absent. */
  env?: string;
  /** What `svc.yaml` gives when the flag is needed and absent; it need not be typed then. */
  manifest?: 'app';
  required?: true;
  requiredUnless?: readonly string[];
  default?: string | number | boolean;
  hidden?: true;
  /** May be given more than once; each adds a value. */
  repeated?: true;
  /** Still taken, ignored, and answered with this notice. */
  retired?: string;
  /** Flags that are ignored, with a notice, when this one is given. */
  winsOver?: readonly string[];
  excludes?: readonly string[];
  requires?: readonly string[];
}

export interface Args<F extends Flags = Flags, P extends readonly Positional[] = readonly Positional[]> {
  flags: FlagValues<F>;
  positionals: PositionalValues<P>;
}

export type InputArgs<F extends Flags, P extends readonly Positional[]> = Args<F, P> & {
  /** Resolved when the endpoint's path names a tenant; empty otherwise. */
  tenant: string;
  now: Date;
  ctx: Ctx;
};

export type FlagValues<F extends Flags> = {
  -readonly [N in keyof F]: F[N] extends { required: true } | { default: unknown }
    ? Value<F[N]>
    : Value<F[N]> | undefined;
};

type Value<F extends Flag> = F extends { type: 'list' }
  ? One<F>[]
  : F extends { repeated: true }
    ? One<F>[]
    : One<F>;

type One<F extends Flag> = F extends { values: readonly (infer V)[] }
  ? V
  : F extends { type: 'boolean' }
    ? boolean
    : F extends { type: 'integer' | 'duration' }
      ? number
      : string;

export type PositionalValues<P extends readonly Positional[]> = {
  [I in P[number] as I['name']]: I extends { repeated: true }
    ? string[]
    : I extends { optional: true }
      ? string | undefined
      : string;
};

/** A dotted path into the record, or a title with a function. Columns of ids are never cut. */
export type Column = string | { title: string; value: (record: Record<string, unknown>) => unknown };

export interface View {
  /** Of a list. */
  columns: readonly Column[];
  /** Of one record; all its fields when absent. */
  fields?: readonly Column[];
}

export interface Result {
  /** What the machine-readable formats print. */
  value: unknown;
  view?: View | undefined;
  /** What people see instead of the table made from `value`. */
  text?: (style: Style) => string;
  /** It went to standard output piece by piece; nothing is left to print. */
  printed?: true;
  /** Where a result is printed and a person must act before there is more. */
  exit?: ExitCode;
  /** What went wrong although there is a result, such as a deployment that failed: said after it, with its exit code. */
  failed?: Error;
}

/** How text for people is laid out. */
export interface Style {
  /** `null`: not limited. */
  width: number | null;
  colour: boolean;
  unicode: boolean;
}

export type JsonSchema = Readonly<Record<string, unknown>>;
