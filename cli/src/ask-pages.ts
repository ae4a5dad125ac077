import type { Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import type { Ctx } from './context.ts';
import { everyPage } from './every-page.ts';

/** One page of a listing, or all that there is. */
export async function askPages<S extends Shape>(
  ctx: Ctx,
  { endpoint, input, pages }: { endpoint: Endpoint<S>; input: Input<S>; pages: 'one' | 'all' },
): Promise<unknown> {
  if (pages === 'all') return everyPage(ctx, endpoint, input);
  return (await ctx.client()).call(endpoint, input, { signal: ctx.signal });
}
