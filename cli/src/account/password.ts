import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';

/** The current password and the new one. */
export function readPasswordChange(ctx: Ctx, { fromStdin }: { fromStdin: boolean }) {
  return fromStdin ? readPasswords(ctx) : askPasswords(ctx);
}

async function readPasswords(ctx: Ctx) {
  const [current = '', next = '', ...rest] = (await ctx.io.readInput()).replace(/\r?\n$/, '').split(/\r?\n/);
  if (current === '' || next === '' || rest.length > 0)
    throw usageError(
      'Standard input must have two lines.',
      'Write the current password, then the new one, each on a line of its own.',
    );
  return { current_password: current, new_password: next };
}

async function askPasswords(ctx: Ctx) {
  const current = await askPassword(ctx, 'Current password');
  const next = await ctx.io.password('New password', ctx.signal);
  if (next !== (await ctx.io.password('New password again', ctx.signal)))
    throw usageError('The two new passwords differ. Nothing has changed.');
  return { current_password: current, new_password: next };
}

/** The password that proves who makes the change. */
export async function readPassword(ctx: Ctx, { fromStdin }: { fromStdin: boolean }): Promise<string> {
  if (!fromStdin) return askPassword(ctx, 'Password');
  const text = (await ctx.io.readInput()).replace(/\r?\n$/, '');
  if (text === '' || /[\r\n]/.test(text))
    throw usageError('Standard input must have one line: your password.');
  return text;
}

async function askPassword(ctx: Ctx, question: string): Promise<string> {
  if ((await ctx.io.isTerminal('stdin')) && (await ctx.io.isTerminal('stderr')))
    return ctx.io.password(question, ctx.signal);
  throw usageError('There is no terminal to ask for the password.', 'Add --password-stdin.');
}
