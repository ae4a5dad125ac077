import type { EnvVariable } from '@svc/contract/deployments.shapes.ts';
import type { z } from 'zod';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { AppCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { type EnvPlaces, platformEnvNames } from './platform-env.ts';
import { listEnvRows } from './store.ts';

export type EnvRecord = z.output<typeof EnvVariable>;

export async function listEnv(ctx: AppCtx, places: EnvPlaces): Promise<{ items: EnvRecord[] }> {
  return { items: await envRecords(ctx.db, places, { tenantId: ctx.tenant.id, appId: ctx.app.id }) };
}

/** Each name once, with who gives it: what the owners set goes before what the platform would give under that name. */
export async function envRecords(db: Db, places: EnvPlaces, place: AppPlace): Promise<EnvRecord[]> {
  const own = (await listEnvRows(db, place)).map(
    ({ name, updated_by, updated_at }): EnvRecord => ({
      ...{ name, given_by: 'app', updated_by },
      updated_at: updated_at.toISOString(),
    }),
  );
  const names = new Set(own.map(({ name }) => name));
  const given = (await platformEnvNames(db, places, place))
    .filter((name) => !names.has(name))
    .map((name): EnvRecord => ({ name, given_by: 'platform', updated_by: null, updated_at: null }));
  return [...own, ...given];
}
