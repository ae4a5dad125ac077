import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import type { z } from 'zod';
import type { Ctx } from './context.ts';
import type { Args, Declaration, Flags, Positional } from './framework/declaration.ts';
import type { Style } from './framework/text.ts';

/**
 * A command as data: parsing, help, completion, the reference page, `svc schema` and the output tests derive from it.
 * Most commands have no code beyond `input`, many not even that. `registry.ts` names the file below `commands/` that declares it.
 */
export interface Command<
  S extends Shape = Shape,
  F extends Flags = Flags,
  P extends readonly Positional[] = readonly Positional[],
> extends Declaration<F, P> {
  pages?: 'all';
  confirm?: Confirmation;
  /** Also accepts a personal access token from `SVC_API_KEY`. Redundant if the endpoint declares it. */
  credential?: 'login_or_pat';
  calls?: string;
  endpoint?: Endpoint<S>;
  /** A tenant named in the input: after `--tenant` and `SVC_TENANT`, before the folder's `svc.yaml`. */
  ownTenant?(ctx: Ctx, args: Args<F, P>): Promise<string | undefined>;
  input?(args: InputArgs<F, P>): OwnInput<S> | Promise<OwnInput<S>>;
  present?(ctx: Ctx, answer: Answer<S>, args: Args<F, P>): unknown;
  finish?(ctx: Ctx, result: Result, input: Input<S>): Promise<Result>;
  /** Where a slug may name the deleted thing: fetches its id before the deletion. */
  deletedId?: Endpoint;
  output?: JsonSchema | (() => Promise<JsonSchema | z.ZodType>);
  view?: View;
  text?(answer: Answer<S>, style: Style): string;
  run?(ctx: Ctx, args: Args<F, P>): Promise<Result>;
}

/** Input that is not named in the arguments: path parameters come from them, the page from `pageFlags`. */
export type OwnInput<S extends Shape> = Omit<Input<S>, 'params' | 'query'> & {
  params?: Partial<Input<S>['params']>;
  query?: Input<S>['query'];
};

export type Confirmation = true | 'typed';

export type InputArgs<F extends Flags, P extends readonly Positional[]> = Args<F, P> & {
  tenant: string;
  now: Date;
  ctx: Ctx;
};

export type Column = string | { title: string; value: (record: Record<string, unknown>) => unknown };

export interface View {
  columns: readonly Column[];
  /** The column that people read first: where room is short, ids and other columns are left out before it is cut. */
  main?: string;
  fields?: readonly Column[];
  /** Instead of "Nothing found."; null: as usual. */
  empty?(answer: Record<string, unknown>): string | null;
  /** Values of an app's users: shown as they are, times too. */
  exact?: true;
}

export interface Result {
  value: unknown;
  view?: View | undefined;
  text?: (style: Style) => string;
  printed?: true;
  /** An `ExitCode`, or the one of a command that ran in an app. */
  exit?: number;
  /** A failure beside a result, such as a failed deployment: reported after it, with its exit code. */
  failed?: Error;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export function defineCommand<
  S extends Shape,
  const F extends Flags = Record<never, never>,
  const P extends readonly Positional[] = readonly [],
>(definition: Command<S, F, P>): Command<S, F, P> {
  return definition;
}

export function acceptsPat({ credential, endpoint }: Pick<Command, 'credential' | 'endpoint'>): boolean {
  return credential === 'login_or_pat' || endpoint?.authority.token !== undefined;
}

export const deployCredential =
  'Uses your login, or the personal access token in SVC_API_KEY, which needs the action deploy and overrides a stored ' +
  'login.';

export function describeCall({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** A JSON Schema of an object; a field is a schema or the name of a type. */
export function objectSchema(
  fields: Readonly<Record<string, string | JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const properties = Object.entries(fields).map(([name, field]) => [
    name,
    typeof field === 'string' ? { type: field } : field,
  ]);
  const required = Object.keys(fields).filter((name) => !optional.includes(name));
  return { type: 'object', properties: Object.fromEntries(properties), required };
}
