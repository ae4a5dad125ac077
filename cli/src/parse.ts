import type { Args, Command, Flag, Flags, Positional } from './command.ts';
import { usage } from './errors.ts';
import { flagNames, flagsOf, globalFlags, looksLikeFlag, splitFlag } from './flags.ts';
import type { ManifestDefaults } from './manifest-defaults.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Parsed {
  args: Args;
  /** Values of the global flags that the command does not define itself. */
  globals: Record<string, unknown>;
  notices: string[];
  /** Flags whose value `svc.yaml` gave. */
  defaulted: { name: string; value: string; path: string }[];
}

/**
 * Reads what follows the words of a command. Every refusal is a `usage` error. Types and rules of flags are
 * loaded when a line needs them.
 */
export async function parseArgs(
  command: Command,
  tokens: readonly string[],
  env: Env,
  manifest?: () => Promise<ManifestDefaults | null>,
): Promise<Parsed> {
  const own = flagsOf(command);
  const flags: Flags = { ...globalFlags, ...own };
  const { values, rest, notices, retired } = await readTokens(flags, tokens);
  await readEnvironment(flags, values, env);
  const positionals = readPositionals(command, rest);
  const defaulted = manifest === undefined ? [] : await readDefaults(flags, values, manifest);
  if (hasRules(flags, command)) {
    const { applyFlagRules } = await import('./flag-rules.ts');
    // What is ignored is no reason to refuse the line.
    const asked = retired ? { ...command, oneRequired: [] } : command;
    notices.push(...applyFlagRules(flags, values, positionals, asked));
  }
  // The types of flags and positionals are those of the declaration, which each value was read by.
  const args = { flags: {}, positionals } as Args;
  const parsed: Parsed = { args, globals: {}, notices, defaulted };
  for (const name in flags) {
    const target: Record<string, unknown> = Object.hasOwn(own, name) ? parsed.args.flags : parsed.globals;
    target[name] = values[name] ?? flags[name]?.default;
  }
  const complaint = command.check?.(parsed.args);
  if (complaint !== undefined) throw usage(complaint);
  return parsed;
}

interface Read {
  values: Record<string, unknown>;
  rest: string[];
  notices: string[];
  /** Whether a flag was typed that is ignored. */
  retired: boolean;
}

async function readTokens(flags: Flags, tokens: readonly string[]): Promise<Read> {
  const read: Read = { values: {}, rest: [], notices: [], retired: false };
  if (tokens.length === 0) return read;
  const names = flagNames(flags);
  for (let i = 0; i < tokens.length; i += 1) {
    const token = tokens[i] ?? '';
    if (token === '--') {
      read.rest.push(...tokens.slice(i + 1));
      break;
    }
    if (!looksLikeFlag(token)) {
      read.rest.push(token);
      continue;
    }
    const { typed, inline } = splitFlag(token, names);
    const name = names.get(typed);
    const flag = name === undefined ? undefined : flags[name];
    if (name === undefined || flag === undefined) {
      throw (await import('./unknown-flag.ts')).unknownFlag(typed, flags);
    }
    let text = inline;
    if (text === undefined && flag.type !== 'boolean') {
      i += 1;
      text = valueAfter(typed, tokens[i], names);
    }
    if (flag.retired !== undefined) {
      read.retired = true;
      read.notices.push(`${typed} is ignored: ${flag.retired}`);
    } else if (text === undefined) read.values[name] = true;
    else await keep(read.values, name, flag, typed, text);
  }
  return read;
}

async function keep(values: Record<string, unknown>, name: string, flag: Flag, typed: string, text: string) {
  if (flag.filled && text === '') throw usage(`${typed} must not be empty.`);
  const parsed =
    flag.type === 'string' ? [text] : (await import('./flag-value.ts')).parseFlagValue(typed, flag, text);
  if (flag.type !== 'list' && !flag.repeated) {
    values[name] = parsed[0];
    return;
  }
  const before = values[name];
  values[name] = [...(Array.isArray(before) ? before : []), ...parsed];
}

/** A value may begin with a dash (`--sort -name`), but what looks like another flag is a forgotten value. */
function valueAfter(typed: string, next: string | undefined, names: ReadonlyMap<string, string>): string {
  if (next === undefined || next === '--') throw usage(`${typed} needs a value.`);
  if (names.has(next) || /^--[a-z][a-z0-9-]*(?:=|$)/.test(next)) {
    throw usage(`${typed} needs a value.`, `If ${next} is the value, write ${typed}=${next}.`);
  }
  return next;
}

async function readEnvironment(flags: Flags, values: Record<string, unknown>, env: Env): Promise<void> {
  const typed = Object.keys(values).filter((name) => values[name] !== false);
  for (const name in flags) {
    const flag = flags[name];
    if (flag?.env === undefined || values[name] !== undefined || flag.retired !== undefined) continue;
    // What is typed wins over a variable that can not stand beside it.
    if (typed.some((other) => flags[other]?.excludes?.includes(name))) continue;
    const text = env[flag.env];
    if (text) await keep(values, name, flag, flag.env, text);
  }
}

/** Only for what would otherwise be missing, so that a line which says everything reads no file. */
async function readDefaults(
  flags: Flags,
  values: Record<string, unknown>,
  manifest: () => Promise<ManifestDefaults | null>,
): Promise<Parsed['defaulted']> {
  const defaulted: Parsed['defaulted'] = [];
  for (const name in flags) {
    const flag = flags[name];
    if (flag?.manifest === undefined || values[name] !== undefined) continue;
    if (!(await import('./flag-rules.ts')).isRequired(flag, values)) continue;
    const found = await manifest();
    if (found === null) continue;
    const value = found[flag.manifest];
    if (value === null) throw usage(`--${name} must be given: ${found.path} names no app.`, namesNoApp);
    values[name] = value;
    defaulted.push({ name, value, path: found.path });
  }
  return defaulted;
}

const namesNoApp = 'Add app.slug there, or a name that a slug can be made from.';

function hasRules(flags: Flags, command: Command): boolean {
  if (command.oneRequired !== undefined) return true;
  for (const name in flags) {
    const flag = flags[name];
    if (flag?.required || flag?.requiredUnless || flag?.requires || flag?.excludes || flag?.winsOver)
      return true;
  }
  return false;
}

function readPositionals(
  command: Command,
  given: readonly string[],
): Record<string, string | string[] | undefined> {
  const values: Record<string, string | string[] | undefined> = {};
  let next = 0;
  for (const positional of command.positionals ?? []) {
    const taken = positional.repeated ? given.slice(next) : given.slice(next, next + 1);
    next += taken.length;
    if (taken.length === 0 && !positional.optional) {
      throw usage(`<${positional.name}> is missing: ${positional.summary}.`);
    }
    for (const text of taken) checkPositional(positional, text);
    values[positional.name] = positional.repeated ? taken : taken[0];
  }
  const extra = given[next];
  if (extra !== undefined) throw usage(`${JSON.stringify(extra)} is one argument too many.`);
  return values;
}

function checkPositional({ name, values }: Positional, text: string): void {
  if (text === '') throw usage(`<${name}> must not be empty.`);
  if (values === undefined || values.includes(text)) return;
  throw usage(`<${name}> is one of ${values.join(', ')}, not ${JSON.stringify(text)}.`);
}
