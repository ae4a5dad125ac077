import { type AdminCtx, UsageError } from './command.ts';

/** One line, without its end. Never an argument: those are seen by everyone on the machine. */
export async function readPassword(ctx: AdminCtx): Promise<string> {
  const text = (await ctx.stdin()).replace(/\r?\n$/, '');
  if (text === '') throw new UsageError('There is no password on standard input.');
  if (/[\r\n]/.test(text)) throw new UsageError('The password on standard input is more than one line.');
  return text;
}
