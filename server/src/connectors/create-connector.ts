import type { createConnector as shape } from '@svc/contract/connectors.shapes.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { type ConnectorRow, connectorRecord, findConnectorRow, insertConnectorRow } from './store.ts';

export async function createConnector(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw invalid('slug', 'can not be made from this name; give one');
  if (await findConnectorRow(ctx.db, ctx.tenant.id, slug)) {
    throw fail('unique_violation', { detail: `A connector ${slug} exists already.` });
  }
  const row: ConnectorRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    slug,
    name: input.name,
    kind: input.kind,
    description: input.description,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertConnectorRow(ctx.db, row);
  const { name, kind, description } = row;
  ctx.audit({
    action: 'connectors.create',
    target: { kind: 'connector', id: row.id, name: slug },
    before: null,
    after: { slug, name, kind, description },
  });
  return connectorRecord(row);
}
