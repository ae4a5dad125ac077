import { uuid } from '@svc/contract/shapes.ts';
import { z } from 'zod';
import { takeAppsOutOfCategory } from '../apps/take-apps-out-of-category.ts';
import type { Db } from '../plumbing/db.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { appsAtOnceMax } from './rules.ts';
import { deleteHiddenCategoryRow, isHiddenCategoryRow } from './store.ts';

const Payload = z.object({ tenantId: uuid, categoryId: uuid });

/** Takes a deleted category's apps out of it, some at a time, and then the category. Interrupted, it goes on where it was. */
export function detachApps({ db }: { db: Db }): Effect {
  return async (payload) => {
    const { tenantId, categoryId } = Payload.parse(payload);
    if (!(await isHiddenCategoryRow(db, tenantId, categoryId))) return;
    while (await takeAppsOutOfCategory(db, tenantId, { categoryId, appsMax: appsAtOnceMax })) {}
    await deleteHiddenCategoryRow(db, tenantId, categoryId);
  };
}
