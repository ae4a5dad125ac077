import type { OwnAccess } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import { findConnectorRow } from '../../access/connectors/connectors.ts';
import { findApp, findAppOfTenant } from '../../apps/record/find-app.ts';
import type { Caller } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { jsonResponse, type RowsPath } from '../rows/context.ts';
import { existsSql } from '../rows/sql.ts';
import { describeActions, describeColumns, describeFilter, describeSources } from './describe.ts';
import { closedReason, emptyReason, type Person } from './reasons.ts';
import { type PreviewDeps, type Resolved, resolveTarget, type Target, targetLabel } from './resolve.ts';

type Answer = z.output<typeof OwnAccess>;

/** Tables that do not exist and tables that are closed to the caller give the same answer. */
export function createOwnAccess(deps: PreviewDeps) {
  return async (caller: Caller, path: RowsPath) =>
    jsonResponse(200, JSON.stringify(await ownAccess(deps, caller, path)));
}

async function ownAccess(deps: PreviewDeps, caller: Caller, path: RowsPath): Promise<Answer> {
  const tenant = await deps.tenantAccess(path.tenant, caller);
  if (!tenant || !isForRows(caller, tenant.id)) throw fail('not_found');
  const target = await findTarget(deps, { tenant, caller, path });
  const apps = caller.scope?.apps ?? [];
  if (apps.length > 0 && target.kind === 'app' && !apps.includes(target.app.id)) throw fail('not_found');
  const person = { isSelf: true, email: caller.email, userId: caller.userId };
  const resolved = await resolveTarget(deps, target, { tenant, caller, person });
  if (isClosed(resolved, target)) {
    await requireVisibleApp(deps.db, { tenant, caller, target });
    return describeClosed(target);
  }
  if (!resolved.value && !resolved.reason) throw fail('not_found');
  return describeOwn(resolved, target, person);
}

/** Callers without access to a table learn no more here than from its rows. */
export const isClosed = ({ value, isUnresolvable = false }: Resolved, { kind }: Target) =>
  kind === 'app' && !value && !isUnresolvable;

export async function requireVisibleApp(
  db: Db,
  { tenant, caller, target }: { tenant: { id: string }; caller: Caller; target: Target },
): Promise<void> {
  if (target.kind !== 'app') return;
  orNotFound(await findApp(db, { id: tenant.id, role: 'tenant_member' }, { ref: target.app.id, caller }));
}

function isForRows({ scope }: Caller, tenantId: string): boolean {
  if (!scope) return true;
  const { actions } = scope;
  return scope.tenantId === tenantId && (actions.includes('read') || actions.includes('write'));
}

type Asking = { tenant: { id: string }; caller: Caller; path: RowsPath };

async function findTarget(deps: PreviewDeps, { tenant, caller, path }: Asking): Promise<Target> {
  const { schema, app: ref, table } = path;
  if (schema === undefined) {
    const { userId, ownApp } = caller;
    const app = orNotFound(await findAppOfTenant(deps.db, tenant.id, { ref, userId, ownApp }));
    return { kind: 'app', app, table };
  }
  const isText = !ref.includes('\0') && ref.isWellFormed();
  const connector = orNotFound(isText ? await findConnectorRow(deps.db, tenant.id, ref) : undefined);
  return { kind: 'connector', connector, schema, table };
}

const describeClosed = (target: Target): Answer => ({
  actions: [],
  columns: [],
  filter: 'no rows',
  because: [],
  ...closedReason(targetLabel(target)),
});

async function describeOwn(
  { value, catalogue, rowDb, presets, reason: found }: Resolved,
  target: Target,
  person: Person,
): Promise<Answer> {
  const names = new Map([[person.userId, 'you']]);
  const disclosure = { isFull: false, table: target.table, names, presets };
  const filter = describeFilter(value, disclosure);
  let reason = found;
  if (!reason && value && rowDb) {
    const { text, values } = existsSql(value.table, [value.table.view.rows]);
    const { rows } = await rowDb.run('read', text, values);
    reason = emptyReason(person, {
      filter,
      rows: { visible: rows.length, all: null },
      label: targetLabel(target),
      value,
    });
  }
  const columns = value && catalogue ? describeColumns(catalogue, value, disclosure) : [];
  return {
    actions: describeActions(value),
    columns: columns.map(({ name, access, mask }) => ({
      name,
      access: access === 'masked' ? access : 'clear',
      mask,
    })),
    filter,
    because: describeSources(value, disclosure),
    reason: reason?.reason ?? null,
    next: reason?.next ?? null,
  };
}
