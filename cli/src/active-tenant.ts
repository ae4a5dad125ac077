import type { Ctx } from './context.ts';
import { changeConfig, withLock } from './profile-store.ts';

/** Makes a tenant the active one of the profile. */
export async function setActiveTenant(ctx: Ctx, tenant: { id: string; slug: string }): Promise<void> {
  const { baseUrl, configDir, profile } = await ctx.session();
  await withLock(configDir, ctx.signal, () =>
    changeConfig(configDir, (config) => {
      config.profiles[profile] = {
        ...config.profiles[profile],
        tenant: { id: tenant.id, slug: tenant.slug, base_url: baseUrl },
      };
    }),
  );
}
