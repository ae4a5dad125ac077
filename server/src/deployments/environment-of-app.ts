import { envOf } from '../app-env/env-of.ts';
import { type EnvPlaces, platformEnv } from '../app-env/platform-env.ts';
import { openEnv, sealEnv } from '../app-env/seal-env.ts';
import type { Db } from '../plumbing/db.ts';
import type { EnvironmentOfApp } from './deployment-parts.ts';

export function environmentOfApp(db: Db, places: EnvPlaces): EnvironmentOfApp {
  return {
    snapshot: async (row) =>
      sealEnv(db, {
        deploymentId: row.id,
        env: await envOf(db, { tenantId: row.tenant_id, appId: row.app_id }),
      }),
    own: async (row) => (row.env_sealed ? openEnv(db, { deploymentId: row.id, sealed: row.env_sealed }) : {}),
    given: async (row, purpose) => {
      const { tenant_id: tenantId, app_id: appId, id: deploymentId, commit_sha: commit } = row;
      return (await platformEnv(db, places, { tenantId, appId, deploymentId, commit }))[purpose];
    },
  };
}
