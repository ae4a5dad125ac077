import { preCreateIcon as endpoint, type IconType } from '@svc/contract/icons.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { planStale, usage } from '../errors.ts';
import { carryOut } from '../mutation.ts';
import { saidTenant } from '../tenant.ts';
import { showsAddress } from './shows-address.ts';

/** Only an address, in both modes: whoever holds it uploads, before the app is created with its `icon_url`. */
export async function preCreateIcon(
  ctx: Ctx,
  { slug, type, variant }: { slug: string; type: IconType; variant: 'light' | 'dark' },
): Promise<Result> {
  // There is no app yet that would tell a slip, so the tenant must be said.
  const tenantID = await saidTenant(ctx);
  if (tenantID === undefined) throw usage('--pre-create needs --tenant as well.');
  const input = { params: { tenantID }, body: { slug, content_type: type, variant } };
  const sign = async () => (await ctx.client()).call(endpoint, input, { signal: ctx.signal });
  return showsAddress((seen) =>
    carryOut(ctx, {
      preview: async () => ({ dry_run: true, ...seen(await sign()) }),
      execute: async (plan) => {
        const { plan: announced, ...address } = await sign();
        if (plan !== undefined && plan !== announced.fingerprint) throw planStale();
        return { value: { ...address, uploaded: false, slug } };
      },
    }),
  );
}
