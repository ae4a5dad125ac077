import { goOnAfterLink } from '../bootstrap/go-on-after-link.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { LinkedPerson } from './git-parts.ts';

/** An account was linked: what waited for it goes on. */
export async function onLinked(ctx: MutationCtx, who: LinkedPerson): Promise<void> {
  await goOnAfterLink(ctx, who);
}
