import type { Declaration, Flags } from './declaration.ts';
import { usageError } from './errors.ts';
import { joinOr } from './text.ts';

type Values = Record<string, unknown>;

export function applyFlagRules(
  flags: Flags,
  values: Values,
  positionals: Values,
  command: Declaration,
): string[] {
  const notices: string[] = [];
  for (const [name, flag] of Object.entries(flags)) {
    if (!isSet(values[name])) continue;
    for (const loser of flag.winsOver ?? []) {
      if (values[loser] === undefined) continue;
      delete values[loser];
      notices.push(`--${loser} is ignored because --${name} is given.`);
    }
  }
  for (const [name, flag] of Object.entries(flags)) {
    if (!isSet(values[name])) continue;
    for (const other of flag.excludes ?? []) {
      if (isSet(values[other])) throw usageError(`--${name} and --${other} cannot be combined.`);
    }
    const missing = flag.requires?.find((other) => !isSet(values[other]));
    if (missing !== undefined) throw usageError(`--${name} requires --${missing}.`);
  }
  checkRequired(flags, values);
  for (const names of command.oneRequired ?? []) {
    if (names.some((name) => isSet(values[name]) || hasPositional(positionals[name]))) continue;
    throw usageError(`Give ${joinOr(names.map((name) => label(command, name)))}.`);
  }
  return notices;
}

function checkRequired(flags: Flags, values: Values): void {
  const missing = Object.entries(flags)
    .filter(([name, flag]) => values[name] === undefined && isRequired(flag, values))
    .map(([name]) => name);
  if (missing.length === 0) return;
  const defaults = missing.filter((name) => flags[name]?.manifest !== undefined);
  const all = missing.map((name) => `--${name}`).join(', ');
  const choices = missing.map((name) => choiceText(name, flags[name])).join('');
  if (defaults.length === 0)
    throw usageError(`${all} ${missing.length === 1 ? 'is' : 'are'} required.${choices}`);
  if (defaults.length === missing.length)
    throw usageError(
      `${all} ${missing.length === 1 ? 'is' : 'are'} required outside of a folder with svc.yaml.`,
    );
  throw usageError(
    `${all} are required; in a folder with svc.yaml, --${defaults.join(', --')} defaults to the value there.${choices}`,
  );
}

function choiceText(name: string, flag: Flags[string] | undefined): string {
  return flag?.type === 'enum' ? ` --${name} is ${joinOr(flag.values)}.` : '';
}

export function isRequired(flag: Flags[string], values: Values): boolean {
  if (flag.required) return true;
  return flag.requiredUnless !== undefined && !flag.requiredUnless.some((name) => isSet(values[name]));
}

function label(command: Declaration, name: string): string {
  const isPositional = command.positionals?.some((positional) => positional.name === name);
  return isPositional ? `<${name}>` : `--${name}`;
}

/** `--flag=false` equals an absent flag; an empty list is a value that clears. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== false;
}

function hasPositional(positional: unknown): boolean {
  return Array.isArray(positional) ? positional.length > 0 : positional !== undefined;
}
