import type { Args, Command, Result } from './command.ts';
import type { Ctx } from './context.ts';
import { mutate } from './mutation.ts';

/** Runs a command: its own `run`, or what follows from its endpoint. */
export async function runCommand(ctx: Ctx, command: Command, args: Args): Promise<Result> {
  if (command.run !== undefined)
    return { ...(command.view && { view: command.view }), ...(await command.run(ctx, args)) };
  const { endpoint } = command;
  if (endpoint === undefined || command.input === undefined) {
    throw new Error(`svc ${command.words} declares neither run nor endpoint and input.`);
  }
  const tenant = endpoint.path.includes('{tenantID}')
    ? await (await import('./tenant.ts')).resolveTenant(ctx)
    : '';
  const input = await command.input({ ...args, tenant, now: ctx.io.now(), ctx });
  const view = command.view;
  const present = (answer: unknown) =>
    command.present === undefined ? answer : command.present(ctx, answer, args);
  if (command.kind === 'mutate')
    return mutate(ctx, endpoint, input, { confirm: command.confirm, view, present });
  const everything: unknown = Object.hasOwn(command.flags ?? {}, 'all') && Reflect.get(args.flags, 'all');
  const answer =
    everything === true
      ? await (await import('./every-page.ts')).everyPage(ctx, endpoint, input)
      : await (await ctx.client()).call(endpoint, input, { signal: ctx.signal });
  return { value: await present(answer), ...(view && { view }) };
}
