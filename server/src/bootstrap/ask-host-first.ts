import { taken } from '../apps/create-app.ts';
import { freeSlugs } from '../apps/names-store.ts';
import type { DeviceGrant } from '../drivers/git-host/git-host.ts';
import type { LinkedPerson } from '../git-connections/git-parts.ts';
import { hasAccount } from '../git-connections/has-account.ts';
import { askForDeviceCode } from '../git-connections/start-git-link.ts';
import { userTokenOf } from '../git-connections/user-token-of.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { resolveInstallation } from './resolve-installation.ts';
import type { WantedRepo } from './run-input.ts';

export interface HostAsked {
  /** Whether the person has an account at the git host; without one the run waits for it. */
  isLinked: boolean;
  /** What its approval is asked for with; null in a preview, and where none is needed. */
  grant: DeviceGrant | null;
}

/** What can be known before a run is made. A preview goes by what is known here: it asks nobody and renews nothing. */
export async function askHostFirst(
  parts: BootstrapParts,
  ctx: TenantCtx,
  { slug, wanted, mode }: { slug: string; wanted: WantedRepo; mode: 'preview' | 'execute' },
): Promise<HostAsked> {
  const { gitHost: host } = parts;
  // The name of the app is the first thing to be told of: that of the repository follows from it.
  if ((await freeSlugs(ctx.db, ctx.tenant.id, [slug])).length === 0) throw taken('slug', slug);
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  if (mode === 'preview') return { isLinked: await hasAccount(parts, who), grant: null };
  if (!(await isLinked(parts, who)))
    return { isLinked: false, grant: await askForDeviceCode(parts, { mode }) };
  const { id, account } = await resolveInstallation(parts, { wanted, tenantSlug: ctx.tenant.slug, who });
  const repo = { owner: account.login, name: wanted.name };
  if (await host.asInstallation(id).repository(repo))
    throw fail('repo_exists', { detail: `There is a repository ${repo.owner}/${repo.name} already.` });
  return { isLinked: true, grant: null };
}

async function isLinked(parts: BootstrapParts, who: LinkedPerson): Promise<boolean> {
  try {
    await userTokenOf(parts, who);
    return true;
  } catch (error) {
    if (error instanceof Failure && error.code === 'git_account_required') return false;
    throw error;
  }
}
