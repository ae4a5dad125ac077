import type { listObjects as shape } from '@svc/contract/storage.shapes.ts';
import type { z } from 'zod';
import type { AppCtx } from '../plumbing/context.ts';
import { readCursor, writeCursor } from './list-cursor.ts';
import { listRows } from './list-store.ts';
import { notEnabled, objectRecord } from './rules.ts';
import { findStorageRow } from './store.ts';

export async function listObjects(ctx: AppCtx, query: z.output<typeof shape.query>) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  if (!(await findStorageRow(ctx.db, place))) throw notEnabled();
  const { prefix, delimiter = '', limit } = query;
  const listing = { prefix, delimiter };
  const after = query.cursor === undefined ? '' : readCursor(query.cursor, listing);
  const rows = await listRows(ctx.db, place, { ...listing, after, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const end = page.at(-1);
  return {
    items: page.filter((row) => row.prefix === null).map(objectRecord),
    prefixes: page.flatMap((row) => (row.prefix === null ? [] : [row.prefix])),
    next_cursor: end && rows.length > limit ? writeCursor(listing, end.after) : null,
  };
}
