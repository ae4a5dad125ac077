import { changeConfig, withLock } from './profile-store.ts';
import type { Session } from './session.ts';

/** Makes a tenant the active one of the session's profile; `null` leaves none. */
export async function setActiveTenant(
  session: Session,
  tenant: { id: string; slug: string } | null,
): Promise<void> {
  await withLock(session.configDir, () =>
    changeConfig(session.configDir, (config) => {
      const { tenant: _, ...profile } = config.profiles[session.profile] ?? {};
      const active = tenant !== null && {
        tenant: { id: tenant.id, slug: tenant.slug, base_url: session.baseUrl },
      };
      config.profiles[session.profile] = { ...profile, ...active };
    }),
  );
}
