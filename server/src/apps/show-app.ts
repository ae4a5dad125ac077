import type { getApp as shape } from '@svc/contract/apps.shapes.ts';
import type { z } from 'zod';
import { appHome } from '../identity/app-redirects.ts';
import type { AppCtx } from '../plumbing/context.ts';
import { findUsers } from '../users/find-users.ts';
import { getApp } from './get-app.ts';

/** Where apps have their hosts; null where nothing is served, and no app has an address. */
export type AppPlaces = { baseUrl: string; appsDomain: string } | null;

/** An app as the caller sees it: where it lives, what they are to it, and who answers for it. */
export async function showApp(ctx: AppCtx, places: AppPlaces): Promise<z.output<typeof shape.answer>> {
  const app = await getApp(ctx);
  const url = places === null || app.subdomain === null ? null : appHome(places, app.subdomain);
  const owner = (await findUsers(ctx, { ids: [app.owner_id] })).get(app.owner_id);
  return { ...app, url, relation: ctx.app.relation, owner_name: owner?.name ?? '' };
}
