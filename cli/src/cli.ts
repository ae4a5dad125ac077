import type { Args, Command, Result, Style } from './command.ts';
import type { Ctx, Line, OpenContext, Run } from './context.ts';
import { CliError, tooLate } from './errors.ts';
import type { Io } from './io.ts';
import { renderResult } from './output.ts';
import { isCommand, loadCommand } from './registry.ts';
import { openSession, type Session } from './session.ts';
import { timeoutMsDefault } from './timeout-default.ts';

/**
 * Every run passes through this file, so it holds the whole way of a plain command (words, call, JSON) and loads
 * the rest when it is needed: flags, changes, tables, errors.
 */

/** One run of the tool, from the line typed to the exit code. */
export async function runCli(io: Io): Promise<number> {
  const run: Run = { io, words: '' };
  try {
    if (io.argv[0] === '__complete') {
      const { completionLines } = await import('./completion.ts');
      await io.out(await completionLines(io.argv.slice(1)));
      return 0;
    }
    const words = io.argv.join(' ');
    if (isCommand(words)) run.words = words;
    const plain = isCommand(words) ? plainLine(io, await loadCommand(words)) : null;
    const line = plain ?? (await (await import('./read-line.ts')).readLine(run));
    return line === null ? 0 : await execute(run, line);
  } catch (cause) {
    const { reportError } = await import('./report-error.ts');
    return reportError(run, cause);
  }
}

/** A command that takes nothing, typed with nothing behind it: there is nothing to parse. */
function plainLine(io: Io, command: Command): Line | null {
  if (command.kind === 'mutate' || command.flags !== undefined || command.positionals !== undefined)
    return null;
  const { SVC_TENANT: tenant, SVC_PROFILE: profile } = io.env;
  return {
    command,
    args: { flags: {}, positionals: {} },
    globals: {
      tenant: tenant || undefined,
      profile: profile || undefined,
      format: 'table',
      quiet: false,
      verbose: false,
    },
    mutation: { mode: 'preview', confirmed: false, argv: [] },
    notices: [],
  };
}

async function execute(run: Run, line: Line): Promise<number> {
  const ctx = createContext(run.io, line);
  run.ctx = ctx;
  run.args = line.args;
  for (const notice of line.notices) ctx.note(notice);
  const result = await runCommand(ctx, line.command, line.args);
  const text = result.printed ? '' : await renderResult(ctx, result);
  if (text !== '') await ctx.io.out(text);
  ctx.flushNotes();
  if (result.failed !== undefined) {
    const { reportError } = await import('./report-error.ts');
    return reportError(run, result.failed);
  }
  return result.exit ?? 0;
}

function createContext(io: Io, line: Line): OpenContext {
  const globals = { timeoutMs: timeoutMsDefault, ...line.globals };
  const ending = new AbortController();
  setTimeout(() => ending.abort(tooLate(globals.timeoutMs)), globals.timeoutMs).unref();
  io.onInterrupt(() => ending.abort(new CliError('interrupted', 'Interrupted.')));
  const held: string[] = [];
  let session: Promise<Session> | undefined;
  const ctx: OpenContext = {
    io,
    globals,
    mutation: line.mutation,
    signal: ending.signal,
    note(text) {
      if (globals.quiet) return;
      if (globals.format === 'table') io.err(`${text}\n`);
      else held.push(text);
    },
    say(text) {
      if (!globals.quiet) io.err(`${text}\n`);
    },
    session() {
      session ??= openSession(ctx, line.command.credential);
      return session;
    },
    client: () => ctx.session().then(({ client }) => client),
    findCommand: async (words) => (await import('./read-line.ts')).findCommand(words),
    flushNotes() {
      for (const text of held.splice(0)) io.err(`${text}\n`);
    },
  };
  return ctx;
}

/** A command's own `run`, or what follows from its endpoint. */
async function runCommand(ctx: Ctx, command: Command, args: Args): Promise<Result> {
  const { endpoint, view } = command;
  if (command.run !== undefined) return { view, ...(await command.run(ctx, args)) };
  if (endpoint === undefined || command.input === undefined) {
    throw new Error(`svc ${command.words} declares neither run nor endpoint and input.`);
  }
  const tenant = endpoint.path.includes('{tenantID}')
    ? await (await import('./tenant.ts')).resolveTenant(ctx, { own: () => command.ownTenant?.(ctx, args) })
    : '';
  const input = await command.input({ ...args, tenant, now: ctx.io.now(), ctx });
  const present = (answer: unknown) =>
    command.present === undefined ? answer : command.present(ctx, answer, args);
  if (command.kind === 'mutate') {
    const { mutate } = await import('./mutation.ts');
    const deletedId = command.deletedId?.bind(command, ctx, input);
    const options = { confirm: command.confirm, view, present, text: command.text, deletedId };
    const made = await mutate(ctx, endpoint, input, options);
    return command.settle === undefined ? made : command.settle(ctx, made, input);
  }
  const all: unknown = Reflect.get(args.flags, 'all');
  const answer =
    all === true || command.pages === 'all'
      ? await (await import('./every-page.ts')).everyPage(ctx, endpoint, input)
      : await (await ctx.client()).call(endpoint, input, { signal: ctx.signal });
  const { text } = command;
  return {
    ...{ value: await present(answer), view },
    ...(text && { text: (style: Style) => text(answer, style) }),
  };
}
