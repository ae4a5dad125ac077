import type { GitStatus } from '@svc/contract/git-connections.shapes.ts';
import type { z } from 'zod';
import type { AppCtx } from '../plumbing/context.ts';
import { findConnectionRow } from './connection-store.ts';
import { findLastPushRow } from './push-store.ts';
import { connectionRecord, pushRecord } from './rules.ts';

export async function getGitStatus(ctx: AppCtx): Promise<z.output<typeof GitStatus>> {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const row = await findConnectionRow(ctx.db, place);
  const push = await findLastPushRow(ctx.db, place);
  return {
    connected: row !== undefined,
    connection: row ? connectionRecord(row) : null,
    last_push: push ? pushRecord(push) : null,
  };
}
