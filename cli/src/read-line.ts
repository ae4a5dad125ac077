import type { Command } from './command.ts';
import type { Line, Run } from './context.ts';
import { usageError } from './framework/errors.ts';
import type { Io } from './framework/io.ts';
import { parseArgs } from './framework/parse.ts';
import { isCommand } from './framework/program.ts';
import { resolveWords } from './framework/words.ts';
import { type OutputFormat, requestedFormat } from './global-flags.ts';
import { svc } from './registry.ts';

export async function readLine(run: Run): Promise<Line | null> {
  const { io } = run;
  const { kind, words, rest, alone } = await resolveWords(svc, io.argv);
  run.words = words;
  const end = rest.indexOf('--');
  const flags = end === -1 ? rest : rest.slice(0, end);
  // A group may be a command itself: its help then lists the other commands too.
  if (flags.includes('--help') || flags.includes('-h')) return printHelp(io, alone ?? words);
  if (flags.includes('--version')) {
    const format = ['--client', `--output=${requestedFormat(flags)}`];
    return readArgs(
      io,
      await svc.load('version'),
      flags.includes('--verbose') ? [...format, '--verbose'] : format,
    );
  }
  if (kind === 'command') return readArgs(io, await svc.load(words), rest);
  // A group takes global flags only; reject others instead of printing help.
  await parseArgs(svc, { words, summary: '', kind: 'local' }, rest, { env: {} });
  return printHelp(io, words);
}

async function readArgs(io: Io, command: Command, rest: readonly string[]): Promise<Line> {
  const manifest = async () => (await import('./manifest/defaults.ts')).manifestDefaults(io);
  const parsed = await parseArgs(svc, command, rest, { env: io.env, manifest });
  const { args, globals, notices } = parsed;
  if (globals.verbose === true)
    for (const { name, value, path } of parsed.defaulted) io.err(`--${name} ${value} comes from ${path}.\n`);
  const line = { command, args, globals: await readGlobals(command, globals), notices };
  if (command.kind !== 'mutate')
    return { ...line, mutation: { mode: 'preview', confirmed: false, argv: [] } };
  const { mutationMode, mutationNotices } = await import('./mutation.ts');
  const mutation = mutationMode(args.flags, globals, io.argv);
  return { ...line, mutation, notices: [...notices, ...mutationNotices(args.flags, mutation)] };
}

async function printHelp(io: Io, words: string): Promise<null> {
  const { helpText } = await import('./framework/help.ts');
  const { detectStyle } = await import('./output/render.ts');
  await io.out(await helpText(svc, words, await detectStyle(io)));
  return null;
}

export async function findCommand(typed: readonly string[]): Promise<Command> {
  const { words } = await resolveWords(svc, typed);
  if (isCommand(svc, words)) return svc.load(words);
  throw usageError(`"svc ${words}" is a group of commands.`, `See svc ${words} --help.`);
}

interface GlobalValues {
  tenant?: string;
  profile?: string;
  timeout?: number;
  json?: boolean;
  output?: OutputFormat | 'wide';
  columns?: string[];
  'no-headers'?: boolean;
  jq?: string;
  quiet?: boolean;
  verbose?: boolean;
}

async function readGlobals(command: Command, values: Record<string, unknown>): Promise<Line['globals']> {
  const { tenant, profile, timeout, json, output, columns, jq, quiet, verbose } = values as GlobalValues;
  for (const [flag, value] of [
    ['--json', json],
    ['--jq', jq],
  ] as const)
    if (value && output !== undefined && output !== 'json')
      throw usageError(`${flag} and --output ${output} cannot be combined.`);
  const format = json || jq !== undefined ? 'json' : output === 'wide' ? 'table' : (output ?? 'table');
  if (columns !== undefined && format !== 'table' && format !== 'csv')
    throw usageError('--columns is for tables and CSV.', 'Select fields of JSON with --jq.');
  return {
    tenant,
    profile,
    timeoutMs: timeout ?? (await declaredTimeoutMs(command)),
    format,
    wide: output === undefined ? undefined : output === 'wide',
    columns,
    noHeaders: values['no-headers'] === true,
    jq,
    quiet: quiet === true,
    verbose: verbose === true,
  };
}

async function declaredTimeoutMs({ timeoutDefault }: Command): Promise<number | undefined> {
  if (timeoutDefault === undefined) return undefined;
  return (await import('./framework/flag-values.ts')).parseDuration(timeoutDefault) ?? undefined;
}
