import type { Command } from './command.ts';
import type { Line, Run } from './context.ts';
import { type CliError, usage } from './errors.ts';
import { flagNames, globalFlags, looksLikeFlag, type OutputFormat, splitFlag } from './flags.ts';
import type { Io } from './io.ts';
import { parseArgs } from './parse.ts';
import { groups, isCommand, isGroup, loadCommand } from './registry.ts';

/** Reads the whole line; `null` where help was asked for and has been printed. */
export async function readLine(run: Run): Promise<Line | null> {
  const { io } = run;
  const { kind, words, rest, alone } = await resolveWords(io.argv);
  run.words = words;
  const end = rest.indexOf('--');
  const flags = end === -1 ? rest : rest.slice(0, end);
  // Where a group was typed alone, what else it holds is what a person looks for.
  if (flags.includes('--help') || flags.includes('-h')) return printHelp(io, alone ?? words);
  if (flags.includes('--version'))
    return readArgs(io, await loadCommand('version'), await formatFlags(flags));
  if (kind === 'command') return readArgs(io, await loadCommand(words), rest);
  // The line of a group holds global flags at most; a slip there must not pass as a wish for help.
  await parseArgs({ words, summary: '', kind: 'local', examples: [] }, rest, {});
  return printHelp(io, words);
}

async function readArgs(io: Io, command: Command, rest: readonly string[]): Promise<Line> {
  const manifest = async () => (await import('./manifest-defaults.ts')).manifestDefaults(io);
  const { args, globals, defaulted, ...parsed } = await parseArgs(command, rest, io.env, manifest);
  const notices = [...parsed.notices, ...(globals.verbose === true ? defaulted.map(defaultNotice) : [])];
  const line = { command, args, globals: await readGlobals(command, globals), notices };
  if (command.kind !== 'mutate')
    return { ...line, mutation: { mode: 'preview', confirmed: false, argv: [] } };
  const { mutationMode, mutationNotices } = await import('./mutation.ts');
  const mutation = mutationMode(args.flags, globals, io.argv);
  return { ...line, mutation, notices: [...notices, ...mutationNotices(args.flags, mutation)] };
}

function defaultNotice({ name, value, path }: { name: string; value: string; path: string }): string {
  return `--${name} ${value} comes from ${path}.`;
}

async function printHelp(io: Io, words: string): Promise<null> {
  const { helpText } = await import('./help.ts');
  const { styleOf } = await import('./output.ts');
  await io.out(await helpText(words, await styleOf(io)));
  return null;
}

export async function findCommand(typed: readonly string[]): Promise<Command> {
  const { words } = await resolveWords(typed);
  if (isCommand(words)) return loadCommand(words);
  throw usage(`"svc ${words}" is a group of commands.`, `See svc ${words} --help.`);
}

async function readGlobals(command: Command, values: Record<string, unknown>): Promise<Line['globals']> {
  const { tenant, profile, timeout, json, output, quiet, verbose } = values as GlobalValues;
  if (json && output !== undefined && output !== 'json') {
    throw usage(`--json and --output ${output} exclude each other.`);
  }
  const timeoutMs = timeout ?? (await declaredTimeoutMs(command));
  return {
    tenant,
    profile,
    ...(timeoutMs !== undefined && { timeoutMs }),
    format: json ? 'json' : (output ?? 'table'),
    quiet: quiet === true,
    verbose: verbose === true,
  };
}

interface GlobalValues {
  tenant?: string;
  profile?: string;
  timeout?: number;
  json?: boolean;
  output?: OutputFormat;
  quiet?: boolean;
  verbose?: boolean;
}

async function declaredTimeoutMs({ timeoutDefault }: Command): Promise<number | undefined> {
  if (timeoutDefault === undefined) return undefined;
  return (await import('./duration.ts')).parseDuration(timeoutDefault) ?? undefined;
}

/** Of the whole line, `--version` only heeds what says how to print. */
async function formatFlags(flags: readonly string[]): Promise<string[]> {
  const { formatAsked } = await import('./format-asked.ts');
  return [`--output=${formatAsked(flags)}`, ...(flags.includes('--verbose') ? ['--verbose'] : [])];
}

/** What a line names: a command, or a group (the empty one is `svc` itself), with the rest of the line. */
export interface Resolved {
  kind: 'command' | 'group';
  words: string;
  rest: string[];
  /** The group whose words were typed, where they stand for one of its commands. */
  alone?: string;
}

/** Global flags may stand between and before the words; `svc help <words>` is `svc <words> --help`. */
export async function resolveWords(argv: readonly string[]): Promise<Resolved> {
  let words = '';
  const rest: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const token = argv[i] ?? '';
    if (token === '--' || isCommand(words)) {
      rest.push(...argv.slice(i));
      break;
    }
    if (looksLikeFlag(token)) {
      // A flag that is not global is the command's own: its words are over.
      if (groups[words]?.alone !== undefined && !isGlobal(token)) {
        rest.push(...argv.slice(i));
        break;
      }
      rest.push(token);
      if (!takesNext(token) || i + 1 >= argv.length) continue;
      i += 1;
      rest.push(argv[i] ?? '');
      continue;
    }
    const longer = words === '' ? token : `${words} ${token}`;
    if (isCommand(longer) || isGroup(longer)) words = longer;
    else if (longer === 'help') rest.push('--help');
    else if (await takesArguments(groups[words]?.alone)) {
      rest.push(...argv.slice(i));
      break;
    } else throw await unknownWord(words, token, rest);
  }
  const named = groups[words]?.alone;
  if (named !== undefined) return { kind: 'command', words: named, rest, alone: words };
  return { kind: isCommand(words) ? 'command' : 'group', words, rest };
}

async function takesArguments(words: string | undefined): Promise<boolean> {
  return words !== undefined && ((await loadCommand(words)).positionals ?? []).length > 0;
}

function isGlobal(token: string): boolean {
  const names = flagNames(globalFlags);
  return names.has(splitFlag(token, names).typed);
}

function takesNext(token: string): boolean {
  const names = flagNames(globalFlags);
  const { typed, inline } = splitFlag(token, names);
  const name = names.get(typed);
  if (inline !== undefined) return false;
  return Object.entries(globalFlags).some(([known, flag]) => known === name && flag.type !== 'boolean');
}

async function unknownWord(path: string, token: string, before: readonly string[]): Promise<CliError> {
  const names = flagNames(globalFlags);
  const stray = before.find((entry) => looksLikeFlag(entry) && !names.has(splitFlag(entry, names).typed));
  return (await import('./unknown-word.ts')).unknownWord(path, token, stray);
}
