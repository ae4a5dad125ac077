import type { Command, Result } from './command.ts';
import { createContext, type Globals, type OpenContext } from './context.ts';
import { usage } from './errors.ts';
import type { OutputFormat } from './flags.ts';
import type { Io } from './io.ts';
import type { MutationMode } from './mutation.ts';
import { parseArgs } from './parse.ts';
import { isCommand, loadCommand } from './registry.ts';
import type { Resolved } from './resolve.ts';
import { printResult, runCommand } from './run.ts';

const timeoutMsDefault = 60_000;
const notMutating: MutationMode = { mode: 'preview', confirmed: false, argv: [] };

/** One run of the tool, from the line typed to the exit code. */
export async function runCli(io: Io): Promise<number> {
  const run: Run = { io, words: '' };
  try {
    if (io.argv[0] === '__complete') {
      const { completionLines } = await import('./completion.ts');
      await io.out(await completionLines(io.argv.slice(1)));
      return 0;
    }
    const result = await dispatch(run);
    run.ctx?.flushNotes();
    return result?.exit ?? 0;
  } catch (cause) {
    const { reportError } = await import('./report-error.ts');
    return reportError(run, cause);
  }
}

/** How far a run has come; what an error report can go by. */
export interface Run {
  io: Io;
  words: string;
  ctx?: OpenContext;
}

async function dispatch(run: Run): Promise<Result | undefined> {
  const { io } = run;
  const { kind, words, rest } = plainWords(io.argv) ?? (await resolve(io.argv));
  run.words = words;
  const end = rest.indexOf('--');
  const flags = end === -1 ? rest : rest.slice(0, end);
  if (flags.includes('--help') || flags.includes('-h')) return help(io, words);
  if (flags.includes('--version'))
    return execute(run, await loadCommand('version'), await formatFlags(flags));
  if (kind === 'command') return execute(run, await loadCommand(words), rest);
  // The line of a group holds global flags at most; a slip there must not pass as a wish for help.
  await parseArgs({ words, summary: '', kind: 'local', examples: [] }, rest, {});
  return help(io, words);
}

/** The usual line: the words of a command, then all the rest. */
function plainWords(argv: readonly string[]): Resolved | null {
  let words = '';
  for (let i = 0; i < argv.length && i < 4; i += 1) {
    words = i === 0 ? (argv[0] ?? '') : `${words} ${argv[i]}`;
    if (isCommand(words)) return { kind: 'command', words, rest: argv.slice(i + 1) };
  }
  return null;
}

/** Flags before the words, groups, help, slips. */
async function resolve(argv: readonly string[]): Promise<Resolved> {
  return (await import('./resolve.ts')).resolveWords(argv);
}

async function execute(run: Run, command: Command, rest: readonly string[]): Promise<Result> {
  const { io } = run;
  const { args, globals, notices } = await parseArgs(command, rest, io.env);
  let mutation = notMutating;
  if (command.kind === 'mutate') {
    const { mutationMode, mutationNotices } = await import('./mutation.ts');
    mutation = mutationMode(args.flags, globals, io.argv);
    notices.push(...mutationNotices(args.flags, mutation));
  }
  const ctx = createContext({ io, globals: await readGlobals(command, globals), mutation, findCommand });
  run.ctx = ctx;
  for (const notice of notices) ctx.note(notice);
  const result = await runCommand(ctx, command, args);
  await printResult(ctx, result);
  return result;
}

async function help(io: Io, words: string): Promise<undefined> {
  const { helpText } = await import('./help.ts');
  const { styleOf } = await import('./terminal.ts');
  await io.out(await helpText(words, await styleOf(io)));
}

async function findCommand(typed: readonly string[]): Promise<Command> {
  const { words } = await resolve(typed);
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
