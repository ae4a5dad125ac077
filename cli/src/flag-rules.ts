import type { Command, Flags } from './command.ts';
import { usage } from './errors.ts';
import { listed } from './flag-value.ts';

type Values = Record<string, unknown>;

/** Applies what flags say about each other; changes `values` where one wins over another. Returns notices. */
export function applyFlagRules(
  flags: Flags,
  values: Values,
  positionals: Values,
  command: Command,
): string[] {
  const notices: string[] = [];
  for (const [name, flag] of Object.entries(flags)) {
    if (!counts(values[name])) continue;
    for (const loser of flag.winsOver ?? []) {
      if (values[loser] === undefined) continue;
      delete values[loser];
      notices.push(`--${loser} is ignored because --${name} is given.`);
    }
  }
  for (const [name, flag] of Object.entries(flags)) {
    if (!counts(values[name])) continue;
    for (const other of flag.excludes ?? []) {
      if (counts(values[other]))
        throw usage(`--${name} and --${other} exclude each other; give one of them.`);
    }
    const missing = flag.requires?.find((other) => !counts(values[other]));
    if (missing !== undefined) throw usage(`--${name} needs --${missing} as well.`);
  }
  requireAll(flags, values);
  for (const names of command.oneRequired ?? []) {
    if (names.some((name) => counts(values[name]) || isGiven(positionals[name]))) continue;
    throw usage(`Give ${listed(names.map((name) => label(command, name)))}.`);
  }
  return notices;
}

function requireAll(flags: Flags, values: Values): void {
  const missing = Object.entries(flags)
    .filter(([name, flag]) => values[name] === undefined && isRequired(flag, values))
    .map(([name]) => name);
  if (missing.length === 0) return;
  const defaults = missing.filter((name) => flags[name]?.manifest !== undefined);
  const all = missing.map((name) => `--${name}`).join(', ');
  const choices = missing.map((name) => choiceText(name, flags[name])).join('');
  if (defaults.length === 0) throw usage(`${all} must be given.${choices}`);
  if (defaults.length === missing.length)
    throw usage(`${all} must be given, or run it in a folder with svc.yaml.`);
  throw usage(
    `${all} must be given; in a folder with svc.yaml, --${defaults.join(', --')} comes from there.${choices}`,
  );
}

function choiceText(name: string, flag: Flags[string] | undefined): string {
  return flag?.type === 'enum' ? ` --${name} is ${listed(flag.values)}.` : '';
}

export function isRequired(flag: Flags[string], values: Values): boolean {
  if (flag.required) return true;
  return flag.requiredUnless !== undefined && !flag.requiredUnless.some((name) => counts(values[name]));
}

function label(command: Command, name: string): string {
  const isPositional = command.positionals?.some((positional) => positional.name === name);
  return isPositional ? `<${name}>` : `--${name}`;
}

/** `--flag=false` says no more than leaving the flag out; an empty list is a value, it clears. */
function counts(value: unknown): boolean {
  return value !== undefined && value !== false;
}

function isGiven(positional: unknown): boolean {
  return Array.isArray(positional) ? positional.length > 0 : positional !== undefined;
}
