import { mutationFlags } from '../flags.ts';

type FlagBag = Readonly<Record<string, unknown>>;

/** For `check`: an update that says nothing. How it is to be carried out is no field. */
export function refuseNoField(
  flags: FlagBag,
  counts: (value: unknown) => boolean = isSaid,
): string | undefined {
  const given = Object.entries(flags).filter(([name]) => !Object.hasOwn(mutationFlags, name));
  return given.some(([, value]) => counts(value)) ? undefined : 'Give at least one field to change.';
}

function isSaid(value: unknown): boolean {
  return value !== undefined;
}
