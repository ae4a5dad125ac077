import { getMe } from '@svc/contract/identity.ts';
import type { Ctx } from './context.ts';
import { usage } from './errors.ts';

/**
 * The tenant a command works in: the one that is said, the profile's active tenant, or the only one the user has,
 * which is then remembered.
 */
export async function resolveTenant(ctx: Ctx, input: TenantInput = {}): Promise<string> {
  const said = await saidTenant(ctx, input);
  if (said !== undefined) return said;
  const session = await ctx.session();
  if (session.tenant !== null) return session.tenant.id;
  const { tenants } = await session.client.call(getMe, {}, { signal: ctx.signal });
  const [only, another] = tenants;
  if (only === undefined)
    throw usage('You are not a member of any tenant.', 'Ask a tenant admin to add you.');
  if (another !== undefined) {
    const slugs = tenants.map((tenant) => tenant.slug).join(', ');
    throw usage(
      `You belong to several tenants (${slugs}).`,
      'Choose one with svc tenants use <tenant>, or pass --tenant.',
    );
  }
  await remember(ctx, { id: only.id, slug: only.slug });
  return only.id;
}

export interface TenantInput {
  /** What the command's own input names. */
  own?: () => Promise<string | undefined> | undefined;
}

/** By `--tenant`, `SVC_TENANT`, the command's own input or the `svc.yaml` of the folder, in this order. */
export async function saidTenant(ctx: Ctx, { own }: TenantInput = {}): Promise<string | undefined> {
  if (ctx.globals.tenant !== undefined) return ctx.globals.tenant;
  const owned = await own?.();
  if (owned !== undefined) return owned;
  const { manifestDefaults } = await import('./manifest-defaults.ts');
  const found = await manifestDefaults(ctx.io);
  if (found === null || found.tenant === null) return undefined;
  if (ctx.globals.verbose) ctx.note(`--tenant ${found.tenant} comes from ${found.path}.`);
  return found.tenant;
}

/** Only a convenience: a folder that can not be written must not stop a command that reads. */
async function remember(ctx: Ctx, tenant: { id: string; slug: string }): Promise<void> {
  if ((await ctx.session()).credential !== 'stored') return;
  const { setActiveTenant } = await import('./active-tenant.ts');
  await setActiveTenant(ctx, tenant).catch(() => undefined);
}
