import type { ServiceAccount, ServiceToken } from '@svc/contract/service-accounts.shapes.ts';
import { describeServiceAccountAction, type ServiceAccountAction } from '@svc/contract/service-accounts.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { AppRef, TokenAction } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';
import type { AppTokenRow } from './app-tokens.ts';

export interface ServiceAccountRow {
  id: string;
  tenant_id: string;
  app_id: string;
  name: string;
  actions: ServiceAccountAction[];
  created_by: string;
  created_at: Date;
  updated_at: Date;
}

export interface TrustRuleRow {
  id: string;
  account_id: string;
  issuer: string;
  audience: string;
  claims: Record<string, string>;
  created_at: Date;
}
type Tables = { service_accounts: ServiceAccountRow; trust_rules: TrustRuleRow };

const selectAccounts = (db: Db, { tenantId, appId }: AppRef) =>
  db
    .withTables<Tables>()
    .selectFrom('service_accounts')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);

const refColumn = (ref: string) => (isUuid(ref) ? ('id' as const) : ('name' as const));

export async function listServiceAccountRows(db: Db, app: AppRef, { limit, offset }: PageWindow) {
  const query = selectAccounts(db, app);
  const rows = await query.selectAll().orderBy('name').limit(limit).offset(offset).execute();
  const { total } = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

export async function countServiceAccounts(db: Db, app: AppRef): Promise<number> {
  return (await listServiceAccountRows(db, app, { limit: 1, offset: 0 })).total;
}

export function findServiceAccount(db: Db, app: AppRef, ref: string): Promise<ServiceAccountRow | undefined> {
  return selectAccounts(db, app).selectAll().where(refColumn(ref), '=', ref).executeTakeFirst();
}

export function lockServiceAccount(tx: Tx, app: AppRef, ref: string): Promise<ServiceAccountRow | undefined> {
  return selectAccounts(tx, app).selectAll().where(refColumn(ref), '=', ref).forUpdate().executeTakeFirst();
}

export async function findServiceAccountByName(db: Db, name: string): Promise<ServiceAccountRow | undefined> {
  const [tenant = '', app = '', account = '', ...more] = name.split('/');
  if (more.length > 0 || (account === '' && !isUuid(name))) return undefined;
  const { rows } = await sql<ServiceAccountRow>`
    select s.* from svc.service_accounts s
      join svc.apps a on a.id = s.app_id
      join svc.tenants t on t.id = s.tenant_id
    where a.record in ('active', 'archived') and ${
      account === ''
        ? sql`s.id = ${name}`
        : sql`t.slug = ${tenant} and a.slug = ${app} and s.name = ${account}`
    }`.execute(db);
  return rows[0];
}

export async function insertServiceAccount(tx: Tx, row: ServiceAccountRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('service_accounts').values(row).execute();
}

export async function updateServiceAccountRow(
  tx: Tx,
  { tenant_id, id }: Pick<ServiceAccountRow, 'tenant_id' | 'id'>,
  set: Pick<ServiceAccountRow, 'name' | 'actions' | 'updated_at'>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('service_accounts')
    .set(set)
    .where('tenant_id', '=', tenant_id)
    .where('id', '=', id)
    .execute();
}

export async function deleteServiceAccountRow(
  tx: Tx,
  { tenant_id, id }: Pick<ServiceAccountRow, 'tenant_id' | 'id'>,
): Promise<void> {
  await sql`delete from svc.service_accounts where tenant_id = ${tenant_id} and id = ${id}`.execute(tx);
}

export function listTrustRules(db: Db, accountIds: readonly string[]): Promise<TrustRuleRow[]> {
  if (accountIds.length === 0) return Promise.resolve([]);
  return db
    .withTables<Tables>()
    .selectFrom('trust_rules')
    .selectAll()
    .where('account_id', 'in', accountIds)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function insertTrustRule(tx: Tx, row: TrustRuleRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('trust_rules').values(row).execute();
}

export async function deleteTrustRule(tx: Tx, accountId: string, id: string): Promise<void> {
  await sql`delete from svc.trust_rules where account_id = ${accountId} and id = ${id}`.execute(tx);
}

export function tokenActions(actions: readonly ServiceAccountAction[]): TokenAction[] {
  return actions.flatMap((action): TokenAction[] => (action === 'rows' ? ['read', 'write'] : [action]));
}

export function serviceAccountRecord(
  row: ServiceAccountRow,
  rules: readonly TrustRuleRow[],
): z.output<typeof ServiceAccount> {
  return {
    ...row,
    allows: row.actions.map(describeServiceAccountAction),
    trust: rules
      .filter((rule) => rule.account_id === row.id)
      .map(({ id, issuer, audience, claims, created_at }) => ({
        id,
        issuer,
        audience,
        claims,
        created_at: created_at.toISOString(),
      })),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function serviceTokenRecord(row: AppTokenRow, now: Date): z.output<typeof ServiceToken> {
  const expiresAt = row.expires_at ?? now;
  return {
    id: row.id,
    account_id: row.account_id ?? '',
    name: row.name,
    hint: row.hint,
    kind: row.kind === 'exchanged' ? 'exchanged' : 'created',
    status: expiresAt <= now ? 'expired' : 'active',
    created_at: row.created_at.toISOString(),
    expires_at: expiresAt.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? '',
  };
}

/** Every claim of the rule must be in the token, as a text or a number, and match its pattern as a whole. */
export function matchesClaims(
  patterns: Readonly<Record<string, string>>,
  claims: Readonly<Record<string, unknown>>,
): boolean {
  const entries = Object.entries(patterns);
  return (
    entries.length > 0 &&
    entries.every(([name, pattern]) => {
      const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
      return (
        ['string', 'number', 'boolean'].includes(typeof value) && matchesClaimPattern(pattern, String(value))
      );
    })
  );
}

/** `*` stands for any characters. Without a regular expression, whose time an attacker could choose. */
export function matchesClaimPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
