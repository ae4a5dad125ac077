import type { Input, Shape } from '@svc/contract/endpoint.ts';
import { isObject } from '@svc/contract/json.ts';
import { acceptsPat, type Command, type Result } from './command.ts';
import type { Ctx, Line, OpenContext, Run } from './context.ts';
import type { Args } from './framework/declaration.ts';
import { CliError, timeoutError } from './framework/errors.ts';
import type { Io } from './framework/io.ts';
import type { Style } from './framework/text.ts';
import { timeoutMsDefault } from './global-flags.ts';
import { renderResult } from './output/render.ts';
import { svc } from './registry.ts';
import { openSession, type Session } from './session/session.ts';

/**
 * One run, from the line typed to the exit code. Every run loads this file, so it imports only what a plain command
 * needs; flags, mutations, tables and errors are loaded on demand.
 */
export async function runCli(io: Io): Promise<number> {
  const run: Run = { io, words: '' };
  try {
    if (io.argv[0] === '__complete') {
      await complete(io);
      return 0;
    }
    const words = io.argv.join(' ');
    const isWhole = svc.commands.includes(words);
    if (isWhole) run.words = words;
    const plain = isWhole ? plainLine(io, await svc.load(words)) : null;
    const line = plain ?? (await (await import('./read-line.ts')).readLine(run));
    return line === null ? 0 : await execute(run, line);
  } catch (cause) {
    const { reportError } = await import('./output/report-error.ts');
    return reportError(run, cause);
  }
}

async function complete(io: Io): Promise<void> {
  const { completionLines } = await import('./framework/completion.ts');
  const text = await completionLines(svc, io.argv.slice(1), async (name, typed) => {
    const { completeValues, completionMsMax } = await import('./session/complete-values.ts');
    const { SVC_TENANT, SVC_PROFILE } = io.env;
    const tenant = typed.tenant ?? (SVC_TENANT || undefined);
    const profile = typed.profile ?? (SVC_PROFILE || undefined);
    const line = commandLine(await svc.load('version'), { tenant, profile });
    const globals = { ...line.globals, quiet: true, timeoutMs: completionMsMax };
    return completeValues(createContext(io, { ...line, globals }), name, typed);
  });
  await io.out(text);
}

function plainLine(io: Io, command: Command): Line | null {
  if (command.kind === 'mutate' || command.flags !== undefined || command.positionals !== undefined)
    return null;
  const { SVC_TENANT: tenant, SVC_PROFILE: profile } = io.env;
  return commandLine(command, { tenant: tenant || undefined, profile: profile || undefined });
}

function commandLine(command: Command, { tenant, profile }: { tenant?: string; profile?: string }): Line {
  return {
    command,
    args: { flags: {}, positionals: {} },
    globals: { tenant, profile, format: 'table', quiet: false, verbose: false },
    mutation: { mode: 'preview', confirmed: false, argv: [] },
    notices: [],
  };
}

async function execute(run: Run, line: Line): Promise<number> {
  const ctx = createContext(run.io, line);
  run.ctx = ctx;
  run.command = line.command;
  run.args = line.args;
  for (const notice of line.notices) ctx.note(notice);
  const { jq } = ctx.globals;
  const filter = jq === undefined ? null : await (await import('./output/jq.ts')).compileJq(jq);
  const streamed = filter === null ? null : collectOutput(ctx);
  const result = withWarnings(await runCommand(ctx, line.command, line.args), ctx.warnings());
  const text = result.printed ? (streamed?.() ?? '') : await renderResult(ctx, result);
  if (text !== '') await run.io.out(filter === null ? text : filter(text));
  ctx.flushNotes();
  if (result.failed !== undefined) {
    const { reportError } = await import('./output/report-error.ts');
    return reportError(run, result.failed);
  }
  return result.exit ?? 0;
}

/** Notes for programs: only where the result is an object of the platform, not a row or a bare list. */
function withWarnings(result: Result, notes: readonly string[]): Result {
  const { value, view } = result;
  const isRow = view?.exact && !('data' in Object(value));
  if (notes.length === 0 || isRow || !isObject(value)) return result;
  const own: unknown = Reflect.get(value, 'warnings');
  if (own !== undefined && !Array.isArray(own)) return result;
  return { ...result, value: { ...value, warnings: [...(own ?? []), ...notes] } };
}

/** `--jq` filters the complete output, so nothing is printed while the command runs. */
function collectOutput(ctx: OpenContext): () => string {
  const parts: string[] = [];
  const decoder = new TextDecoder();
  ctx.io = {
    ...ctx.io,
    out: async (text) => {
      parts.push(typeof text === 'string' ? text : decoder.decode(text, { stream: true }));
    },
  };
  return () => parts.join('');
}

function createContext(io: Io, line: Line): OpenContext {
  const globals = { ...line.globals, timeoutMs: line.globals.timeoutMs ?? timeoutMsDefault };
  const abort = new AbortController();
  setTimeout(() => abort.abort(timeoutError(globals.timeoutMs)), globals.timeoutMs).unref();
  io.onInterrupt(() => abort.abort(new CliError('interrupted', 'Interrupted.')));
  const notes: string[] = [];
  let session: Promise<Session> | undefined;
  const ctx: OpenContext = {
    io,
    globals,
    mutation: line.mutation,
    signal: abort.signal,
    note(text) {
      if (globals.quiet) return;
      if (globals.format === 'table') io.err(`${text}\n`);
      else notes.push(text);
    },
    say(text) {
      if (!globals.quiet) io.err(`${text}\n`);
    },
    session() {
      session ??= openSession(ctx, acceptsPat(line.command) ? 'login_or_pat' : 'login');
      return session;
    },
    client: () => ctx.session().then(({ client }) => client),
    findCommand: async (words) => (await import('./read-line.ts')).findCommand(words),
    warnings: () => notes,
    flushNotes() {
      for (const text of notes.splice(0)) io.err(`${text}\n`);
    },
  };
  return ctx;
}

async function runCommand(ctx: Ctx, command: Command, args: Args): Promise<Result> {
  const { endpoint, view, text } = command;
  if (command.run !== undefined) {
    const result = await command.run(ctx, args);
    return { ...result, view: result.view ?? view };
  }
  if (endpoint === undefined) throw new Error(`svc ${command.words} declares neither run nor endpoint.`);
  const input = await commandInput(ctx, command, endpoint.path, args);
  const present = (answer: unknown) =>
    command.present === undefined ? answer : command.present(ctx, answer, args);
  if (command.kind === 'mutate') {
    const { mutate } = await import('./mutation.ts');
    const result = await mutate(ctx, endpoint, input, {
      confirm: command.confirm,
      view,
      present,
      text,
      deletedId: command.deletedId,
    });
    return command.finish === undefined ? result : command.finish(ctx, result, input);
  }
  const all: unknown = Reflect.get(args.flags, 'all');
  const answer =
    all === true || command.pages === 'all'
      ? await (await import('./session/pages.ts')).fetchAllPages(ctx, endpoint, input)
      : await (await ctx.client()).call(endpoint, input);
  return {
    value: await present(answer),
    view,
    text: text && ((style: Style) => text(answer, style)),
  };
}

async function commandInput(ctx: Ctx, command: Command, path: string, args: Args): Promise<Input<Shape>> {
  const tenant = path.includes('{tenantID}')
    ? await (await import('./session/tenant.ts')).resolveTenant(ctx, {
        own: () => command.ownTenant?.(ctx, args),
      })
    : '';
  const own: { params?: object; query?: object } =
    (await command.input?.({ ...args, tenant, now: ctx.io.now(), ctx })) ?? {};
  const { page, 'per-page': per_page } = args.flags as Record<string, unknown>;
  return {
    ...own,
    params: { ...pathParams(path, tenant, args), ...own.params },
    query: { page, per_page, ...own.query },
  } as object as Input<Shape>;
}

/** `{connectorID}` is the argument `connector` or `connector-id`, otherwise `id`. */
function pathParams(path: string, tenant: string, { flags, positionals }: Args): Record<string, unknown> {
  const values: Record<string, unknown> = { tenant };
  for (const [name, value] of [...Object.entries(flags), ...Object.entries(positionals)])
    if (value !== undefined) values[name.replace(/-id$/, '')] = value;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return Object.fromEntries(names.map((name) => [name, values[name.replace(/ID$/, '')] ?? values.id]));
}
