import { type Line, type Run, timeoutMsDefault } from './cli.ts';
import type { Command } from './command.ts';
import type { Globals } from './context.ts';
import { usage } from './errors.ts';
import type { OutputFormat } from './flags.ts';
import type { Io } from './io.ts';
import { parseArgs } from './parse.ts';
import { isCommand, loadCommand } from './registry.ts';
import { resolveWords } from './resolve.ts';

/** Reads the whole line; `null` where help was asked for and has been printed. */
export async function readLine(run: Run): Promise<Line | null> {
  const { io } = run;
  const { kind, words, rest } = await resolveWords(io.argv);
  run.words = words;
  const end = rest.indexOf('--');
  const flags = end === -1 ? rest : rest.slice(0, end);
  if (flags.includes('--help') || flags.includes('-h')) return printHelp(io, words);
  if (flags.includes('--version'))
    return readArgs(io, await loadCommand('version'), await formatFlags(flags));
  if (kind === 'command') return readArgs(io, await loadCommand(words), rest);
  // The line of a group holds global flags at most; a slip there must not pass as a wish for help.
  await parseArgs({ words, summary: '', kind: 'local', examples: [] }, rest, {});
  return printHelp(io, words);
}

async function readArgs(io: Io, command: Command, rest: readonly string[]): Promise<Line> {
  const { args, globals, notices } = await parseArgs(command, rest, io.env);
  const line = { command, args, globals: await readGlobals(command, globals), notices };
  if (command.kind !== 'mutate')
    return { ...line, mutation: { mode: 'preview', confirmed: false, argv: [] } };
  const { mutationMode, mutationNotices } = await import('./mutation.ts');
  const mutation = mutationMode(args.flags, globals, io.argv);
  return { ...line, mutation, notices: [...notices, ...mutationNotices(args.flags, mutation)] };
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

async function readGlobals(command: Command, values: Record<string, unknown>): Promise<Globals> {
  const { tenant, profile, timeout, json, output, quiet, verbose } = values as GlobalValues;
  if (json && output !== undefined && output !== 'json') {
    throw usage(`--json and --output ${output} exclude each other.`);
  }
  return {
    tenant,
    profile,
    timeoutMs: timeout ?? (await defaultTimeoutMs(command)),
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

async function defaultTimeoutMs(command: Command): Promise<number> {
  if (command.timeoutDefault === undefined) return timeoutMsDefault;
  return (await import('./duration.ts')).parseDuration(command.timeoutDefault) ?? timeoutMsDefault;
}

/** Of the whole line, `--version` only heeds what says how to print. */
async function formatFlags(flags: readonly string[]): Promise<string[]> {
  const { formatAsked } = await import('./format-asked.ts');
  return [`--output=${formatAsked(flags)}`, ...(flags.includes('--verbose') ? ['--verbose'] : [])];
}
