import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';

/** The record of a connection is the same whether it was changed or not; JSON has a field for it. */
export function noteUnchanged(ctx: Ctx, made: Result): Result {
  const isSame = Reflect.get(Object(made.value), 'changed') === false;
  if (isSame && ctx.globals.format === 'table')
    ctx.note('It was connected like this already; nothing has changed.');
  return made;
}
