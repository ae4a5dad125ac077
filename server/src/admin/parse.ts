import { parseArgs } from 'node:util';
import { type Command, type Flag, UsageError } from './command.ts';
import { suggest } from './suggest.ts';

export type Invocation =
  | { kind: 'help'; words: string[]; json: boolean }
  | { kind: 'version'; json: boolean }
  | { kind: 'command'; command: Command; input: Record<string, string | boolean | undefined>; json: boolean };

export const globalFlags: Readonly<Record<string, Flag>> = {
  json: { means: 'print one JSON object' },
  help: { means: 'show this help' },
  version: { means: 'show the version' },
};

/** Turns the words typed into a command with checked values, or a usage error that names what was meant. */
export function parseInvocation(argv: readonly string[], commands: readonly Command[]): Invocation {
  const { positionals, options } = split(argv, commands);
  const json = options.has('json');
  if (options.has('help')) return { kind: 'help', words: positionals, json };
  if (options.has('version')) return { kind: 'version', json };
  if (positionals[0] === undefined) return { kind: 'help', words: [], json };
  if (positionals[0] === 'help') return { kind: 'help', words: positionals.slice(1), json };
  const found = findCommand(positionals, commands);
  const rest = positionals.slice(found.words.split(' ').length);
  return {
    kind: 'command',
    command: found,
    input: { ...argsOf(found, rest), ...flagsOf(found, options) },
    json,
  };
}

export function usageOf(command: Command): string {
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    const text = `--${name}${flag.value ? ` <${flag.value}>` : ''}`;
    return flag.required ? text : `[${text}]`;
  });
  return ['svc-admin', command.words, ...command.args.map((arg) => `<${arg}>`), ...flags, '[--json]'].join(
    ' ',
  );
}

type Options = Map<string, string | undefined>;

function split(
  argv: readonly string[],
  commands: readonly Command[],
): { positionals: string[]; options: Options } {
  const known = Object.assign({}, globalFlags, ...commands.map((command) => command.flags)) as Record<
    string,
    Flag
  >;
  const config = Object.fromEntries(
    Object.entries(known).map(([name, flag]) => [
      name,
      { type: flag.value ? ('string' as const) : ('boolean' as const) },
    ]),
  );
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options: { ...config, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const options: Options = new Map();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const flag = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (!flag)
      throw unknown(
        `flag ${token.rawName}`,
        token.rawName,
        Object.keys(known).map((name) => `--${name}`),
      );
    if (options.has(token.name)) throw new UsageError(`${token.rawName} is given twice.`);
    if (!flag.value && token.value !== undefined) throw new UsageError(`${token.rawName} takes no value.`);
    const missing = token.value === undefined || (!token.inlineValue && token.value.startsWith('-'));
    if (flag.value && missing) {
      throw new UsageError(`${token.rawName} needs a value.`, `Write ${token.rawName}=<${flag.value}>.`);
    }
    options.set(token.name, token.value);
  }
  return { positionals, options };
}

function findCommand(positionals: readonly string[], commands: readonly Command[]): Command {
  for (const length of [2, 1]) {
    const words = positionals.slice(0, length).join(' ');
    const found = commands.find((command) => command.words === words);
    if (found) return found;
  }
  const below = commands.filter((command) => command.words.startsWith(`${positionals[0]} `));
  if (below.length > 0 && positionals[1] === undefined) {
    const choices = below.map((command) => command.words.split(' ')[1]).join(', ');
    throw new UsageError(`svc-admin ${positionals[0]} needs one of: ${choices}.`);
  }
  const typed = positionals.slice(0, 2).join(' ');
  throw unknown(
    `command ${typed}`,
    below.length > 0 || positionals.length > 1 ? typed : (positionals[0] ?? ''),
    commands.map((command) => command.words),
  );
}

function argsOf(command: Command, given: readonly string[]): Record<string, string> {
  const missing = command.args[given.length];
  if (missing !== undefined) throw new UsageError(`<${missing}> is missing.`, `Usage: ${usageOf(command)}`);
  const extra = given[command.args.length];
  if (extra !== undefined)
    throw new UsageError(`${extra} is one argument too many.`, `Usage: ${usageOf(command)}`);
  return Object.fromEntries(command.args.map((name, at) => [name, given[at] ?? '']));
}

function flagsOf(command: Command, options: Options): Record<string, string | boolean | undefined> {
  for (const name of options.keys()) {
    if (Object.hasOwn(command.flags, name) || Object.hasOwn(globalFlags, name)) continue;
    throw unknown(
      `flag --${name} of ${command.words}`,
      `--${name}`,
      Object.keys(command.flags).map((known) => `--${known}`),
    );
  }
  return Object.fromEntries(
    Object.entries(command.flags).map(([name, flag]) => {
      const value = options.get(name);
      if (!flag.value) return [name, options.has(name)];
      if (flag.required && value === undefined)
        throw new UsageError(`--${name} is missing.`, `Usage: ${usageOf(command)}`);
      if (flag.oneOf && value !== undefined && !flag.oneOf.includes(value)) {
        throw unknown(
          `value ${value} of --${name}`,
          value,
          flag.oneOf,
          `It must be one of: ${flag.oneOf.join(', ')}.`,
        );
      }
      return [name, value];
    }),
  );
}

function unknown(what: string, typed: string, candidates: readonly string[], otherwise?: string): UsageError {
  const meant = suggest(typed, candidates);
  return new UsageError(
    `Unknown ${what}.`,
    meant ? `Did you mean ${meant}?` : (otherwise ?? 'svc-admin --help lists all commands.'),
  );
}
