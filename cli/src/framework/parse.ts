import type { Args, Declaration, Flag, Flags, Positional } from './declaration.ts';
import { usageError } from './errors.ts';
import { commandFlags, flagNames, looksLikeFlag, splitFlag } from './flags.ts';
import type { Env } from './io.ts';
import type { Program } from './program.ts';

export interface Parsed {
  args: Args;
  globals: Record<string, unknown>;
  notices: string[];
  defaulted: { name: string; value: string; path: string }[];
}

export interface ManifestValues {
  path: string;
  app: string | null;
}

interface ParseInput {
  env: Env;
  manifest?: () => Promise<ManifestValues | null>;
}

export async function parseArgs(
  program: Pick<Program, 'globalFlags' | 'rejectsDuplicates'>,
  command: Declaration,
  tokens: readonly string[],
  { env, manifest }: ParseInput,
): Promise<Parsed> {
  const own = commandFlags(command);
  const flags: Flags = { ...program.globalFlags, ...own };
  const { values, rest, notices, hasRetired } = await readTokens(program, flags, tokens);
  await readEnvironment(flags, values, env);
  const positionals = readPositionals(command, rest);
  const defaulted = manifest === undefined ? [] : await readManifest(flags, values, manifest);
  if (hasRules(flags, command)) {
    const { applyFlagRules } = await import('./flag-rules.ts');
    // An ignored flag satisfies oneRequired.
    const checked = hasRetired ? { ...command, oneRequired: [] } : command;
    notices.push(...applyFlagRules(flags, values, positionals, checked));
  }
  // Each value was parsed by its declaration, which Args derives its types from.
  const args = { flags: {}, positionals } as Args;
  const parsed: Parsed = { args, globals: {}, notices, defaulted };
  for (const name in flags) {
    const target: Record<string, unknown> = Object.hasOwn(own, name) ? parsed.args.flags : parsed.globals;
    target[name] = values[name] ?? flags[name]?.default;
  }
  const complaint = command.check?.(parsed.args);
  if (complaint !== undefined) throw usageError(complaint);
  return parsed;
}

interface ReadTokens {
  values: Record<string, unknown>;
  rest: string[];
  notices: string[];
  hasRetired: boolean;
}

async function readTokens(
  { rejectsDuplicates }: Pick<Program, 'rejectsDuplicates'>,
  flags: Flags,
  tokens: readonly string[],
): Promise<ReadTokens> {
  const read: ReadTokens = { values: {}, rest: [], notices: [], hasRetired: false };
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
    if (name === undefined || flag === undefined) throw await unknownFlagError(typed, flags);
    if (rejectsDuplicates && !flag.repeated && read.values[name] !== undefined)
      throw usageError(`${typed} is given twice.`);
    let text = inline;
    if (text === undefined && flag.type !== 'boolean') {
      i += 1;
      text = valueAfter(typed, tokens[i], names);
    }
    if (flag.retired !== undefined) {
      read.hasRetired = true;
      read.notices.push(`${typed} is ignored: ${flag.retired}`);
    } else if (text === undefined) read.values[name] = true;
    else await storeValue(read.values, name, flag, typed, text);
  }
  return read;
}

async function unknownFlagError(typed: string, flags: Flags) {
  const { suggest } = await import('@svc/contract/suggest.ts');
  const candidates = Object.entries(flags)
    .filter(([, flag]) => !flag.hidden && flag.retired === undefined)
    .flatMap(([name, flag]) => [name, ...(flag.alias ?? [])].map((it) => `--${it}`));
  const near = suggest(typed, candidates);
  return usageError(
    `${typed} is not a flag of this command.`,
    near === null ? undefined : `Did you mean ${near}?`,
  );
}

async function storeValue(
  values: Record<string, unknown>,
  name: string,
  flag: Flag,
  typed: string,
  text: string,
): Promise<void> {
  if (flag.filled && text === '') throw usageError(`${typed} must not be empty.`);
  const parsed =
    flag.type === 'string' ? [text] : (await import('./flag-values.ts')).parseFlagValue(typed, flag, text);
  if (flag.type !== 'list' && !flag.repeated) {
    values[name] = parsed[0];
    return;
  }
  const before = values[name];
  values[name] = [...(Array.isArray(before) ? before : []), ...parsed];
}

/** A value may begin with a dash (`--sort -name`), but what looks like another flag is a forgotten value. */
function valueAfter(typed: string, next: string | undefined, names: ReadonlyMap<string, string>): string {
  if (next === undefined || next === '--') throw usageError(`${typed} needs a value.`);
  if (names.has(next) || /^--[a-z][a-z0-9-]*(?:=|$)/.test(next)) {
    throw usageError(`${typed} needs a value.`, `If ${next} is the value, write ${typed}=${next}.`);
  }
  return next;
}

async function readEnvironment(flags: Flags, values: Record<string, unknown>, env: Env): Promise<void> {
  const typed = Object.keys(values).filter((name) => values[name] !== false);
  for (const name in flags) {
    const flag = flags[name];
    if (flag?.env === undefined || values[name] !== undefined || flag.retired !== undefined) continue;
    // A typed flag overrides a variable of a flag that it excludes.
    if (typed.some((other) => flags[other]?.excludes?.includes(name))) continue;
    const text = env[flag.env];
    if (text) await storeValue(values, name, flag, flag.env, text);
  }
}

async function readManifest(
  flags: Flags,
  values: Record<string, unknown>,
  manifest: () => Promise<ManifestValues | null>,
): Promise<Parsed['defaulted']> {
  const defaulted: Parsed['defaulted'] = [];
  for (const name in flags) {
    const flag = flags[name];
    if (flag?.manifest === undefined || values[name] !== undefined) continue;
    if (!(await import('./flag-rules.ts')).isRequired(flag, values)) continue;
    const found = await manifest();
    if (found === null) continue;
    const value = found[flag.manifest];
    if (value === null)
      throw usageError(
        `--${name} is required: ${found.path} names no app.`,
        'Add app.slug to the file, or a name that a slug can be derived from.',
      );
    values[name] = value;
    defaulted.push({ name, value, path: found.path });
  }
  return defaulted;
}

function hasRules(flags: Flags, command: Declaration): boolean {
  if (command.oneRequired !== undefined) return true;
  for (const name in flags) {
    const flag = flags[name];
    if (flag?.required || flag?.requiredUnless || flag?.requires || flag?.excludes || flag?.winsOver)
      return true;
  }
  return false;
}

function readPositionals(
  command: Declaration,
  tokens: readonly string[],
): Record<string, string | string[] | undefined> {
  const values: Record<string, string | string[] | undefined> = {};
  let next = 0;
  for (const positional of command.positionals ?? []) {
    const texts = positional.repeated ? tokens.slice(next) : tokens.slice(next, next + 1);
    next += texts.length;
    if (texts.length === 0 && !positional.optional) {
      throw usageError(`<${positional.name}> is missing: ${positional.summary}.`);
    }
    for (const text of texts) checkPositional(positional, text);
    values[positional.name] = positional.repeated ? texts : texts[0];
  }
  const extra = tokens[next];
  if (extra !== undefined) throw usageError(`${JSON.stringify(extra)} is one argument too many.`);
  return values;
}

function checkPositional({ name, values }: Positional, text: string): void {
  if (text === '') throw usageError(`<${name}> must not be empty.`);
  if (values === undefined || values.includes(text)) return;
  throw usageError(`<${name}> is one of ${values.join(', ')}, not ${JSON.stringify(text)}.`);
}
