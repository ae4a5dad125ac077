import { suggest } from '@svc/contract/suggest.ts';
import type { Flags } from './command.ts';
import { type CliError, usage } from './errors.ts';

export function unknownFlag(typed: string, flags: Flags): CliError {
  const candidates = Object.entries(flags)
    .filter(([, flag]) => !flag.hidden && flag.retired === undefined)
    .flatMap(([name, flag]) => [name, ...(flag.alias ?? [])].map((it) => `--${it}`));
  const near = suggest(typed, candidates);
  return usage(
    `${typed} is not a flag of this command.`,
    near === null ? undefined : `Did you mean ${near}?`,
  );
}
