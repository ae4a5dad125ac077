import type { createApp as shape } from '@svc/contract/apps.shapes.ts';
import type { z } from 'zod';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { slugFromName } from '../plumbing/slug-from-name.ts';
import { type AppRecord, appRecord } from './rules.ts';
import { type AppRow, insertAppRow } from './store.ts';

/** Private until its owner says otherwise. */
export async function createApp(
  ctx: TenantMutationCtx,
  input: z.output<typeof shape.body>,
): Promise<AppRecord> {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw invalid('slug', 'can not be made from this name; give one');
  const row: AppRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    slug,
    name: input.name,
    owner_id: ctx.caller.userId,
    visibility: 'private',
    record: 'active',
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  if (!(await insertAppRow(ctx.db, row))) {
    throw fail('unique_violation', {
      detail: `The slug ${slug} is taken.`,
      errors: [{ field: 'slug', code: 'unique_violation', detail: 'is in use' }],
    });
  }
  const { name, owner_id, visibility } = row;
  ctx.audit({
    action: 'apps.create',
    appId: row.id,
    target: { kind: 'app', id: row.id, name: slug },
    before: null,
    after: { slug, name, owner_id, visibility },
  });
  return appRecord(row);
}
