import { ownerInCharge } from '../apps/owner-in-charge.ts';
import { enableStorageOf } from '../storage/enable-storage.ts';
import { isStorageEnabled } from '../storage/is-storage-enabled.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import type { ClaimedWork } from './claimed-work.ts';
import { LostDeployment } from './deployment-failure.ts';
import { asHolder } from './end-deployment.ts';

/** `svc.yaml` asks for it, and who may deploy may enable it: by the platform, and audited as such. */
export async function giveStorage(work: Pick<ClaimedWork, 'parts' | 'claimed' | 'log'>): Promise<void> {
  const { parts, claimed, log } = work;
  if (await isStorageEnabled(parts.db, claimed)) return;
  await asHolder(work, 'storage.enable', async (ctx, { slug, row }) => {
    const tenant = await findTenant(ctx, { ref: claimed.tenantId });
    if (!tenant) throw new LostDeployment();
    const userId = await ownerInCharge(ctx.db, claimed, { askedBy: row.created_by });
    await enableStorageOf(
      {
        ...{ ...ctx, caller: { ...ctx.caller, userId } },
        tenant: { id: claimed.tenantId, slug: tenant.slug, name: tenant.name, role: 'tenant_member' },
      },
      { id: claimed.appId, slug },
    );
  });
  log.sink('platform', 'svc.yaml asks for a storage: it is enabled.');
}
