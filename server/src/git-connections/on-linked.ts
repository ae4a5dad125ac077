import { goOnAfterLink } from '../bootstrap/go-on-after-link.ts';
import { noteDenied } from '../bootstrap/note-denied.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import type { LinkedPerson } from './git-parts.ts';

/** An account was linked: what waited for it goes on. */
export async function onLinked(ctx: MutationCtx, who: LinkedPerson): Promise<void> {
  await goOnAfterLink(ctx, who);
}

/** A code was denied: what waited for it ends. */
export async function onDenied(
  db: Db,
  who: LinkedPerson,
  { deviceCode }: { deviceCode: string },
): Promise<void> {
  await noteDenied(db, who, { deviceCode });
}
