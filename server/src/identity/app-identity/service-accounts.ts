import type {
  addTrustRule as addTrustRuleShape,
  createServiceAccount as createShape,
  createServiceToken as createTokenShape,
  updateServiceAccount as updateShape,
} from '@svc/contract/service-accounts.shapes.ts';
import {
  describeServiceAccountAction,
  serviceAccountsPerAppMax,
  serviceTokenLifeDaysDefault,
  serviceTokensPerAccountMax,
  trustRulesPerAccountMax,
} from '@svc/contract/service-accounts.ts';
import type { z } from 'zod';
import { revokeGrants, saveRevocations } from '../../access/grants/end-grants.ts';
import { lockAppFor } from '../../apps/record/app-access.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  type AuditedChange,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { credentialTag, userTag } from '../../core/tags.ts';
import { daysAfter, isDeepEqual } from '../../core/values.ts';
import { IssuerError, type IssuerKeys } from '../../drivers/oidc/issuer-keys.ts';
import { newAppToken } from './app-tokens.ts';
import {
  countCreatedTokens,
  countServiceAccounts,
  deleteAccountToken,
  deleteServiceAccountRow,
  deleteTrustRule,
  findServiceAccount,
  insertAppTokenRows,
  insertServiceAccount,
  insertTrustRule,
  listAccountTokenRows,
  listServiceAccountRows,
  listTrustRules,
  lockServiceAccount,
  type ServiceAccountRow,
  serviceAccountRecord,
  serviceTokenRecord,
  type TrustRuleRow,
  updateServiceAccountRow,
} from './store.ts';

export async function listServiceAccounts(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listServiceAccountRows(ctx.db, appRef(ctx), pageWindow(query));
  const rules = await listTrustRules(
    ctx.db,
    rows.map(({ id }) => id),
  );
  return toPage(
    query,
    rows.map((row) => serviceAccountRecord(row, rules)),
    total,
  );
}

export async function getServiceAccount(ctx: AppCtx, { account }: { account: string }) {
  const row = orNotFound(await findServiceAccount(ctx.db, appRef(ctx), account));
  return serviceAccountRecord(row, await listTrustRules(ctx.db, [row.id]));
}

export async function createServiceAccount(ctx: AppMutationCtx, input: z.output<typeof createShape.body>) {
  await lockActiveApp(ctx);
  if ((await countServiceAccounts(ctx.db, appRef(ctx))) >= serviceAccountsPerAppMax)
    throw fail('limit_reached', {
      detail: `The app has ${serviceAccountsPerAppMax} service accounts. Delete one first.`,
    });
  await requireFreeName(ctx, input.name);
  const row: ServiceAccountRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    app_id: ctx.app.id,
    name: input.name,
    actions: input.actions,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertServiceAccount(ctx.db, row);
  audit(ctx, row, {
    action: 'serviceAccounts.create',
    before: null,
    after: { name: row.name, actions: row.actions, ...describeAllowed(row) },
  });
  return serviceAccountRecord(row, []);
}

export async function updateServiceAccount(
  ctx: AppMutationCtx,
  { account, set }: { account: string; set: z.output<typeof updateShape.body> },
) {
  await lockAppFor(ctx, { required: 'owners' });
  const row = await lockAccount(ctx, account);
  const next = {
    ...row,
    name: set.name ?? row.name,
    actions: set.actions ?? row.actions,
    updated_at: ctx.now,
  };
  if (next.name !== row.name) await requireFreeName(ctx, next.name);
  audit(ctx, row, {
    action: 'serviceAccounts.update',
    before: { name: row.name, actions: row.actions, ...describeAllowed(row) },
    after: { name: next.name, actions: next.actions, ...describeAllowed(next) },
  });
  const rules = await listTrustRules(ctx.db, [row.id]);
  if (next.name === row.name && isDeepEqual(next.actions, row.actions))
    return { ...serviceAccountRecord(row, rules), changed: false as const };
  await updateServiceAccountRow(ctx.db, row, {
    name: next.name,
    actions: next.actions,
    updated_at: ctx.now,
  });
  ctx.invalidate(userTag(row.id));
  return serviceAccountRecord(next, rules);
}

export async function deleteServiceAccount(ctx: AppMutationCtx, { account }: { account: string }) {
  await lockAppFor(ctx, { required: 'owners_or_admin' });
  const row = await lockAccount(ctx, account);
  const tokens = await countCreatedTokens(ctx.db, row.id, ctx.now);
  await deleteServiceAccountRow(ctx.db, row);
  audit(ctx, row, {
    action: 'serviceAccounts.delete',
    before: { name: row.name, actions: row.actions, active_tokens: tokens },
    after: null,
  });
  const subject = { kind: 'service_account', id: row.id } as const;
  const reason = 'The service account was deleted.';
  await revokeGrants(ctx, { tenantId: ctx.tenant.id, subject, reason });
  ctx.invalidate(userTag(row.id));
  return undefined;
}

/** Called when the app is purged, which deletes its accounts. */
export async function revokeAccountGrants(ctx: MutationCtx, app: AppRef): Promise<AuditedChange[]> {
  const window = { limit: serviceAccountsPerAppMax, offset: 0 };
  const { rows } = await listServiceAccountRows(ctx.db, app, window);
  const changes: AuditedChange[] = [];
  for (const { id } of rows) {
    const subject = { kind: 'service_account', id } as const;
    const reason = 'The app of the service account was deleted permanently.';
    changes.push(...(await saveRevocations(ctx, { tenantId: app.tenantId, subject, reason })));
  }
  return changes;
}

export async function listServiceTokens(ctx: AppCtx, { account, ...query }: PageQuery & { account: string }) {
  const row = orNotFound(await findServiceAccount(ctx.db, appRef(ctx), account));
  const { rows, total } = await listAccountTokenRows(ctx.db, ctx.tenant.id, row.id, pageWindow(query));
  return toPage(
    query,
    rows.map((token) => serviceTokenRecord(token, ctx.now)),
    total,
  );
}

/** The secret is returned once; only its hash is stored. */
export async function createServiceToken(
  ctx: AppMutationCtx,
  { account, name, expires_in_days }: z.output<typeof createTokenShape.body> & { account: string },
) {
  await lockActiveApp(ctx);
  const owner = await lockAccount(ctx, account);
  if ((await countCreatedTokens(ctx.db, owner.id, ctx.now)) >= serviceTokensPerAccountMax)
    throw fail('limit_reached', {
      detail: `The service account has ${serviceTokensPerAccountMax} active tokens. Revoke one first.`,
    });
  const days = expires_in_days ?? serviceTokenLifeDaysDefault;
  const { row, secret } = newAppToken(
    'svcsat_',
    {
      id: ctx.newId(),
      tenant_id: owner.tenant_id,
      app_id: owner.app_id,
      account_id: owner.id,
      kind: 'created',
      name,
      expires_at: daysAfter(ctx.now, days),
    },
    ctx.now,
  );
  await insertAppTokenRows(ctx.db, [row]);
  audit(ctx, owner, {
    action: 'serviceTokens.create',
    target: { kind: 'service_token', id: row.id, name },
    before: null,
    // Days, not the date: a preview and its execution must have the same fingerprint.
    after: {
      name,
      service_account: owner.name,
      actions: owner.actions,
      expires_in_days: days,
      ...describeAllowed(owner),
    },
  });
  return { ...serviceTokenRecord(row, ctx.now), secret };
}

export async function revokeServiceToken(
  ctx: AppMutationCtx,
  { account, tokenId }: { account: string; tokenId: string },
) {
  await lockAppFor(ctx, { required: 'owners_or_admin' });
  const owner = await lockAccount(ctx, account);
  const row = orNotFound(
    await deleteAccountToken(ctx.db, ctx.tenant.id, { accountId: owner.id, id: tokenId }),
  );
  audit(ctx, owner, {
    action: 'serviceTokens.revoke',
    target: { kind: 'service_token', id: row.id, name: row.name },
    before: { name: row.name, service_account: owner.name, status: serviceTokenRecord(row, ctx.now).status },
    after: null,
  });
  ctx.invalidate(credentialTag(row.secret_hash));
  return undefined;
}

export async function addTrustRule(
  ctx: AppMutationCtx,
  { account, rule }: { account: string; rule: z.output<typeof addTrustRuleShape.body> },
  deps: { baseUrl: string; issuers: Pick<IssuerKeys, 'check'> },
) {
  await lockActiveApp(ctx);
  const owner = await lockAccount(ctx, account);
  requireIssuer(deps.issuers, rule.issuer);
  const rules = await listTrustRules(ctx.db, [owner.id]);
  const { issuer, claims, audience = deps.baseUrl } = rule;
  const known = rules.find((it) => isDeepEqual(ruleAudit(it), { issuer, audience, claims }));
  const row: TrustRuleRow = known ?? {
    id: ctx.newId(),
    account_id: owner.id,
    issuer,
    audience,
    claims,
    created_at: ctx.now,
  };
  const target = { kind: 'trust_rule', id: row.id, name: `${owner.name}: ${issuer}` };
  if (known) {
    audit(ctx, owner, { action: 'trustRules.add', target, before: {}, after: {} });
    return { ...serviceAccountRecord(owner, rules), changed: false as const };
  }
  if (rules.length >= trustRulesPerAccountMax)
    throw fail('limit_reached', {
      detail: `The service account has ${trustRulesPerAccountMax} trust rules. Remove one first.`,
    });
  await insertTrustRule(ctx.db, row);
  audit(ctx, owner, {
    action: 'trustRules.add',
    target,
    before: null,
    after: { ...ruleAudit(row), service_account: owner.name, ...describeAllowed(owner) },
  });
  return serviceAccountRecord(owner, [...rules, row]);
}

export async function removeTrustRule(
  ctx: AppMutationCtx,
  { account, ruleId }: { account: string; ruleId: string },
) {
  await lockAppFor(ctx, { required: 'owners_or_admin' });
  const owner = await lockAccount(ctx, account);
  const row = orNotFound((await listTrustRules(ctx.db, [owner.id])).find(({ id }) => id === ruleId));
  await deleteTrustRule(ctx.db, owner.id, row.id);
  audit(ctx, owner, {
    action: 'trustRules.remove',
    target: { kind: 'trust_rule', id: row.id, name: `${owner.name}: ${row.issuer}` },
    before: { ...ruleAudit(row), service_account: owner.name },
    after: null,
  });
  // Tokens that were exchanged by the rule were deleted with it.
  ctx.invalidate(userTag(owner.id));
  return undefined;
}

function requireIssuer(issuers: Pick<IssuerKeys, 'check'>, issuer: string): void {
  try {
    issuers.check(issuer);
  } catch (error) {
    if (!(error instanceof IssuerError)) throw error;
    throw validationError('issuer', error.message);
  }
}

const ruleAudit = ({ issuer, audience, claims }: Pick<TrustRuleRow, 'issuer' | 'audience' | 'claims'>) => ({
  issuer,
  audience,
  claims,
});

const describeAllowed = ({ actions }: Pick<ServiceAccountRow, 'actions'>) =>
  Object.fromEntries(actions.map((action) => [`allows.${action}`, describeServiceAccountAction(action)]));

async function lockActiveApp(ctx: AppMutationCtx): Promise<void> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  if (app.record !== 'active') throw fail('app_not_active', { detail: 'The app is archived.' });
}

async function lockAccount(ctx: AppMutationCtx, account: string): Promise<ServiceAccountRow> {
  return orNotFound(await lockServiceAccount(ctx.db, appRef(ctx), account));
}

async function requireFreeName(ctx: AppMutationCtx, name: string): Promise<void> {
  if (await findServiceAccount(ctx.db, appRef(ctx), name))
    throw fail('unique_violation', { detail: `A service account ${name} already exists.` });
}

function audit(
  ctx: AppMutationCtx,
  account: ServiceAccountRow,
  change: Omit<AuditedChange, 'target' | 'appId'> & Partial<Pick<AuditedChange, 'target'>>,
): void {
  const target = { kind: 'service_account', id: account.id, name: account.name };
  ctx.audit({ target, ...change, appId: account.app_id });
}
