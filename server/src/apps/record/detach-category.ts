import { uuid } from '@svc/contract/shapes.ts';
import { z } from 'zod';
import type { Db } from '../../core/db.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { deleteHiddenCategory, isCategoryHidden } from '../categories/categories.ts';
import { detachBatchMax } from '../categories/rules.ts';
import { removeAppsFromCategory } from './store.ts';

const Payload = z.object({ tenantId: uuid, categoryId: uuid });

/** Removes a deleted category from its apps in batches, then deletes it. Resumes after an interruption. */
export function detachCategory({ db }: { db: Db }): EffectHandler {
  return async (payload) => {
    const { tenantId, categoryId } = Payload.parse(payload);
    if (!(await isCategoryHidden(db, tenantId, categoryId))) return;
    while (await removeAppsFromCategory(db, tenantId, { categoryId, appsMax: detachBatchMax })) {}
    await deleteHiddenCategory(db, tenantId, categoryId);
  };
}
