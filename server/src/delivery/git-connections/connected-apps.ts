import { findAppRow, listOwnedAppIds } from '../../apps/record/find-app.ts';

import type { ConnectedApps } from '../git-host/deps.ts';
import { listConnectionRowsOfApps, listConnectionRowsOfRepo } from './connection-store.ts';
import { pushOutcome } from './rules.ts';

/** Passed to the built-in git host, which must not import this slice. */
export const connectedApps: ConnectedApps = {
  async listRepos(db, { tenantId, userId, host }) {
    const appIds = await listOwnedAppIds(db, tenantId, { userId });
    if (appIds.length === 0) return [];
    const rows = await listConnectionRowsOfApps(db, tenantId, { appIds, host });
    return rows.map(({ repo_id, app_id }) => ({ repoId: repo_id, appId: app_id }));
  },

  async describePush(db, { tenantId, userId, host, repoId, branches }) {
    const ownIds = await listOwnedAppIds(db, tenantId, { userId });
    const lines: string[] = [];
    for (const { app_id, branch } of await listConnectionRowsOfRepo(db, { host, repoId })) {
      if (!ownIds.includes(app_id) || !branches.includes(branch)) continue;
      const app = await findAppRow(db, tenantId, app_id);
      if (!app) continue;
      const facts = { branch, connectedBranch: branch, isDeleted: false, app, isDeployed: false };
      lines.push(
        pushOutcome(facts) === 'deployed'
          ? `${branch} is deployed to ${app.slug}. Follow it with: svc deployments list --app ${app.slug}`
          : `${branch} is not deployed to ${app.slug}: the app is ${app.record === 'active' ? app.runtime : app.record}.`,
      );
    }
    return lines.map((line) => `${line}\n`).join('');
  },
};
