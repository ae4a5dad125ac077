import { keptApp } from '../apps/app-row.ts';
import { ownedAppIds } from '../apps/owned-app-ids.ts';
import { appsOfRepo } from '../git-connections/apps-of-repo.ts';
import { pushOutcome } from '../git-connections/rules.ts';
import type { GitHostParts } from './git-host-parts.ts';
import type { RefChange } from './push-event.ts';
import type { ReachedRepo } from './reach-repo.ts';
import type { Principal } from './who-asks.ts';

const branchPrefix = 'refs/heads/';

/** What whoever pushed is told of what comes of it. Apps that are not theirs may be none that they know of. */
export async function pushWords(
  { db, urls }: Pick<GitHostParts, 'db' | 'urls'>,
  { principal, reached, changes }: { principal: Principal; reached: ReachedRepo; changes: RefChange[] },
): Promise<string> {
  const branches = changes
    .filter(({ ref, after }) => ref.startsWith(branchPrefix) && after !== null)
    .map(({ ref }) => ref.slice(branchPrefix.length));
  if (principal.kind !== 'user' || branches.length === 0) return '';
  const tenantId = reached.owner.id;
  const own = await ownedAppIds(db, tenantId, principal);
  const connected = await appsOfRepo(db, { host: urls.web, repoId: reached.repo.id });
  const lines: string[] = [];
  for (const { appId, branch } of connected) {
    if (!own.includes(appId) || !branches.includes(branch)) continue;
    const app = await keptApp(db, tenantId, appId);
    if (!app) continue;
    const facts = { branch, connectedBranch: branch, isDeleted: false, app, isDeployed: false };
    lines.push(
      pushOutcome(facts) === 'deployed'
        ? `${branch} is deployed to ${app.slug}. To see how it goes: svc deployments list --app ${app.slug}`
        : `${branch} is not deployed to ${app.slug}, which is ${app.record === 'active' ? app.runtime : app.record}.`,
    );
  }
  return lines.map((line) => `${line}\n`).join('');
}
