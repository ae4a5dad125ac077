import type { EnvVariable } from '@svc/contract/deployments.shapes.ts';
import type { z } from 'zod';
import { liveDeployment } from '../deployments/what-is-live.ts';
import { namesGiven } from '../drivers/runtime/names-given.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import { connectionOf } from '../git-connections/connection-of.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { AppCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { type EnvPlaces, platformEnvNames } from './platform-env.ts';
import { listEnvRows } from './store.ts';

export type EnvRecord = z.output<typeof EnvVariable>;

export async function listEnv(ctx: AppCtx, query: PageQuery, places: ListedPlaces) {
  return pageOf(query, await envRecords(ctx.db, places, { tenantId: ctx.tenant.id, appId: ctx.app.id }));
}

export type ListedPlaces = EnvPlaces & { runtime: Pick<Runtime, 'kind'> };

/**
 * Each name once, with who gives it, by the order in which a running app gets them: what the owners have set goes before
 * what the platform gives, that before `svc.yaml` of what is live, and the runtime has the last word on its own.
 */
export async function envRecords(db: Db, places: ListedPlaces, place: AppPlace): Promise<EnvRecord[]> {
  const own = (await listEnvRows(db, place)).map(
    ({ name, updated_by, updated_at }): EnvRecord => ({
      ...{ name, given_by: 'app', updated_by },
      updated_at: updated_at.toISOString(),
    }),
  );
  const live = await liveDeployment(db, place);
  const commit = live ? live.commit_sha : await commitToCome(db, place);
  const given = new Map<string, EnvRecord['given_by']>();
  for (const name of Object.keys(live?.start_with?.env ?? {})) given.set(name, 'manifest');
  for (const name of await platformEnvNames(db, places, { ...place, commit })) given.set(name, 'platform');
  for (const { name } of own) given.set(name, 'app');
  for (const name of namesGiven(places.runtime, [...given.keys()])) given.set(name, 'platform');
  const of = (by: EnvRecord['given_by']) =>
    [...given.keys()]
      .filter((name) => given.get(name) === by)
      .sort()
      .map((name): EnvRecord => ({ name, given_by: by, updated_by: null, updated_at: null }));
  return [...own, ...of('platform'), ...of('manifest')];
}

/** Only source from a repository has one. */
async function commitToCome(db: Db, place: AppPlace): Promise<string | null> {
  return (await connectionOf(db, place)) ? '' : null;
}
