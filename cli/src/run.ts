import type { Args, Command, Result } from './command.ts';
import type { Ctx } from './context.ts';

/** Runs a command: its own `run`, or what follows from its endpoint. */
export async function runCommand(ctx: Ctx, command: Command, args: Args): Promise<Result> {
  const { endpoint, view } = command;
  if (command.run !== undefined) return { view, ...(await command.run(ctx, args)) };
  if (endpoint === undefined || command.input === undefined) {
    throw new Error(`svc ${command.words} declares neither run nor endpoint and input.`);
  }
  const tenant = endpoint.path.includes('{tenantID}')
    ? await (await import('./tenant.ts')).resolveTenant(ctx)
    : '';
  const input = await command.input({ ...args, tenant, now: ctx.io.now(), ctx });
  const present = (answer: unknown) =>
    command.present === undefined ? answer : command.present(ctx, answer, args);
  if (command.kind === 'mutate') {
    const { mutate } = await import('./mutation.ts');
    return mutate(ctx, endpoint, input, { confirm: command.confirm, view, present });
  }
  const all: unknown = Reflect.get(args.flags, 'all');
  const answer =
    all === true
      ? await (await import('./every-page.ts')).everyPage(ctx, endpoint, input)
      : await (await ctx.client()).call(endpoint, input, { signal: ctx.signal });
  return { value: await present(answer), view };
}

/** Writes the result to standard output, in the format asked for. */
export async function printResult(ctx: Ctx, result: Result): Promise<void> {
  const text =
    ctx.globals.format === 'json'
      ? `${JSON.stringify(result.value ?? null, null, 2)}\n`
      : await (await import('./output.ts')).renderResult(ctx, result);
  if (text !== '') await ctx.io.out(text);
}
