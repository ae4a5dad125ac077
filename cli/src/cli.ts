import type { Command } from './command.ts';
import { createContext, type Globals, type OpenContext } from './context.ts';
import { parseDuration } from './duration.ts';
import { usage } from './errors.ts';
import type { OutputFormat } from './flags.ts';
import { formatAsked } from './format-asked.ts';
import type { Io } from './io.ts';
import { type MutationMode, mutationMode, mutationNotices } from './mutation.ts';
import { printResult } from './output.ts';
import { parseArgs } from './parse.ts';
import { isCommand, loadCommand } from './registry.ts';
import { resolveWords } from './resolve.ts';
import { runCommand } from './run.ts';

const timeoutDefault = '60s';
const neverMutates: MutationMode = { mode: 'preview', confirmed: false, argv: [] };

/** One run of the tool, from the line typed to the exit code. */
export async function runCli(io: Io): Promise<number> {
  let ctx: OpenContext | undefined;
  try {
    if (io.argv[0] === '__complete') {
      const { completionLines } = await import('./completion.ts');
      await io.out(await completionLines(io.argv.slice(1)));
      return 0;
    }
    const plan = await choose(io.argv);
    if ('help' in plan) {
      const { helpText } = await import('./help.ts');
      const { styleOf } = await import('./terminal.ts');
      await io.out(await helpText(plan.help, await styleOf(io)));
      return 0;
    }
    const prepared = prepare(io, plan.command, plan.rest);
    ctx = prepared.ctx;
    for (const notice of prepared.notices) ctx.note(notice);
    const result = await runCommand(ctx, plan.command, prepared.args);
    await printResult(ctx, result);
    ctx.flushNotes();
    return result.exit ?? 0;
  } catch (cause) {
    const { reportError } = await import('./report-error.ts');
    return reportError(io, cause, ctx);
  } finally {
    ctx?.close();
  }
}

/** A command to run, or the words to explain. */
async function choose(
  argv: readonly string[],
): Promise<{ help: string } | { command: Command; rest: string[] }> {
  const { kind, words, rest } = resolveWords(argv);
  const end = rest.indexOf('--');
  const flags = end === -1 ? rest : rest.slice(0, end);
  if (flags.includes('--help') || flags.includes('-h')) return { help: words };
  if (flags.includes('--version')) return { command: await loadCommand('version'), rest: outputFlags(flags) };
  if (kind === 'command') return { command: await loadCommand(words), rest };
  // The line of a group holds global flags at most; a slip there must not pass as a wish for help.
  parseArgs({ words, summary: '', kind: 'local', examples: [] }, rest, {});
  return { help: words };
}

function prepare(io: Io, command: Command, rest: readonly string[]) {
  const { args, globals, notices } = parseArgs(command, rest, io.env);
  const mode = command.kind === 'mutate' ? mutationMode(args.flags, globals, io.argv) : neverMutates;
  const ctx = createContext(io, readGlobals(command, globals), mode, findCommand);
  return { ctx, args, notices: [...notices, ...mutationNotices(args.flags, mode)] };
}

async function findCommand(typed: readonly string[]): Promise<Command> {
  const { words } = resolveWords(typed);
  if (isCommand(words)) return loadCommand(words);
  throw usage(`"svc ${words}" is a group of commands.`, `See svc ${words} --help.`);
}

function readGlobals(command: Command, values: Record<string, unknown>): Globals {
  const format = values.output as OutputFormat | undefined;
  if (values.json === true && format !== undefined && format !== 'json') {
    throw usage(`--json and --output ${format} exclude each other.`);
  }
  return {
    ...(typeof values.tenant === 'string' && { tenant: values.tenant }),
    ...(typeof values.profile === 'string' && { profile: values.profile }),
    timeoutMs:
      (values.timeout as number | undefined) ??
      parseDuration(command.timeoutDefault ?? timeoutDefault) ??
      60_000,
    format: values.json === true ? 'json' : (format ?? 'table'),
    quiet: values.quiet === true,
    verbose: values.verbose === true,
  };
}

function outputFlags(flags: readonly string[]): string[] {
  return [`--output=${formatAsked(flags)}`, ...(flags.includes('--verbose') ? ['--verbose'] : [])];
}
