import { getMe } from '@svc/contract/identity.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';

export async function resolveTenant(ctx: Ctx, input: TenantInput = {}): Promise<string> {
  const said = await explicitTenant(ctx, input);
  if (said !== undefined) return said;
  const session = await ctx.session();
  if (session.tenant !== null) return session.tenant.id;
  // A token cannot list tenants.
  if (session.isLimited)
    throw usageError(
      `With ${session.credential} the tenant is required.`,
      'Pass --tenant, or set SVC_TENANT.',
    );
  const { tenants } = await session.client.call(getMe, {});
  const [only, another] = tenants;
  if (only === undefined)
    throw usageError('You are not a member of any tenant.', 'Ask a tenant admin to add you.');
  if (another !== undefined) {
    const slugs = tenants.map((tenant) => tenant.slug).join(', ');
    throw usageError(
      `You belong to several tenants (${slugs}).`,
      'Choose one with svc tenants use <tenant>, or pass --tenant.',
    );
  }
  const found = { id: only.id, slug: only.slug };
  // A command may ask again.
  session.tenant = { ...found, base_url: session.baseUrl };
  await rememberTenant(ctx, found);
  return only.id;
}

export interface TenantInput {
  own?: () => Promise<string | undefined> | undefined;
}

export async function explicitTenant(ctx: Ctx, { own }: TenantInput = {}): Promise<string | undefined> {
  if (ctx.globals.tenant !== undefined) return ctx.globals.tenant;
  const owned = await own?.();
  if (owned !== undefined) return owned;
  const { manifestDefaults } = await import('../manifest/defaults.ts');
  const found = await manifestDefaults(ctx.io);
  if (found === null || found.tenant === null) return undefined;
  if (ctx.globals.verbose) ctx.say(`--tenant ${found.tenant} comes from ${found.path}.`);
  return found.tenant;
}

/** Ignores a read-only folder, because the stored tenant is a convenience only. */
async function rememberTenant(ctx: Ctx, tenant: { id: string; slug: string }): Promise<void> {
  if ((await ctx.session()).credential !== 'stored') return;
  const { setActiveTenant } = await import('./profile-store.ts');
  await setActiveTenant(ctx, tenant).catch(() => undefined);
}
