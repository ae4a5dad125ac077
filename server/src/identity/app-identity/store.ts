import type { ServiceAccount, ServiceToken } from '@svc/contract/service-accounts.shapes.ts';
import { describeServiceAccountAction, type ServiceAccountAction } from '@svc/contract/service-accounts.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { AppRef, TokenAction } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { countRows, fetchPage, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';

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
export interface AppTokenRow {
  id: string;
  tenant_id: string;
  app_id: string;
  kind: 'created' | 'exchanged' | 'app' | 'renewal';
  account_id: string | null;
  rule_id: string | null;
  instance_id: string | null;
  name: string;
  is_read_only: boolean;
  secret_hash: string;
  hint: string;
  created_at: Date;
  /** Null for `renewal`, which ends with its instance. */
  expires_at: Date | null;
  last_used_at: Date | null;
}
type Tables = {
  service_accounts: ServiceAccountRow;
  trust_rules: TrustRuleRow;
  app_tokens: AppTokenRow;
};

const selectAccounts = (db: Db, { tenantId, appId }: AppRef) =>
  db
    .withTables<Tables>()
    .selectFrom('service_accounts')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);

const refColumn = (ref: string) => (isUuid(ref) ? ('id' as const) : ('name' as const));

export function listServiceAccountRows(db: Db, app: AppRef, window: PageWindow) {
  return fetchPage(selectAccounts(db, app).selectAll().orderBy('name'), window);
}

export function countServiceAccounts(db: Db, app: AppRef): Promise<number> {
  return countRows(selectAccounts(db, app));
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

export async function insertAppTokenRows(db: Db, rows: AppTokenRow[]): Promise<void> {
  await db.withTables<Tables>().insertInto('app_tokens').values(rows).execute();
}

/** Without a tenant: the secret identifies it. */
export function findAppTokenByHash(db: Db, hash: string): Promise<AppTokenRow | undefined> {
  const tokens = db.withTables<Tables>().selectFrom('app_tokens').selectAll();
  return tokens.where('secret_hash', '=', hash).executeTakeFirst();
}

export function listAccountTokenRows(db: Db, tenantId: string, accountId: string, window: PageWindow) {
  const tokens = db.withTables<Tables>().selectFrom('app_tokens').selectAll();
  const own = tokens.where((e) => e.and({ tenant_id: tenantId, account_id: accountId }));
  return fetchPage(own.orderBy('created_at', 'desc').orderBy('id', 'desc'), window);
}

export async function countCreatedTokens(tx: Tx, accountId: string, now: Date): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from svc.app_tokens
    where account_id = ${accountId} and kind = 'created' and expires_at > ${now}`.execute(tx);
  return rows[0]?.total ?? 0;
}

export function deleteAccountToken(
  tx: Tx,
  tenantId: string,
  { accountId, id }: { accountId: string; id: string },
): Promise<AppTokenRow | undefined> {
  const tokens = tx.withTables<Tables>().deleteFrom('app_tokens').returningAll();
  return tokens.where((e) => e.and({ tenant_id: tenantId, account_id: accountId, id })).executeTakeFirst();
}

export async function deleteTokensByName(db: Db, appId: string, name: string): Promise<void> {
  await sql`
    delete from svc.app_tokens where app_id = ${appId} and kind = 'app' and name = ${name}`.execute(db);
}

/** Created tokens stay listed for a week after they expire. */
export async function deleteExpiredAppTokens(db: Db): Promise<void> {
  await sql`
    delete from svc.app_tokens
    where expires_at < now()
      - case kind when 'created' then interval '7 days' else interval '0' end`.execute(db);
}

/** Writes nothing when another server recorded a use after `ifBefore`. */
export async function markAppTokenUsed(
  db: Db,
  tenantId: string,
  id: string,
  { at, ifBefore }: { at: Date; ifBefore: Date },
): Promise<void> {
  await sql`
    update svc.app_tokens set last_used_at = ${at}
    where tenant_id = ${tenantId} and id = ${id}
      and (last_used_at is null or last_used_at <= ${ifBefore})`.execute(db);
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
