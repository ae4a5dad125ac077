import type { Shape } from '@svc/contract/endpoint.ts';
import type { Command, Flags, Positional } from './command.ts';

/** Infers the types of flags and positionals, so that `input` gets them by name. */
export function defineCommand<
  S extends Shape,
  const F extends Flags = Record<never, never>,
  const P extends readonly Positional[] = readonly [],
>(definition: Command<S, F, P>): Command<S, F, P> {
  return definition;
}
