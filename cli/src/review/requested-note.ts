import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';

/** Behind a request: nothing is shown yet, and who has to do what now. */
export function requestedNote(ctx: Ctx, made: unknown): void {
  const { id, changed } = Object(made) as { id?: unknown; changed?: unknown };
  if (changed === false) ctx.note('This was asked for before; it waits for its review.');
  ctx.note(
    'Who sees the app stays as it is until this is approved, by another admin of the tenant or by the only one it has:\n' +
      `  svc review approve ${plain(String(id))} --execute`,
  );
}
