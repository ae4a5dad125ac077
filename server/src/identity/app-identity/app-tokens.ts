import { appTokenPrefix, appTokenSeconds } from '@svc/contract/service-accounts.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { AppRef, Caller, TokenScope } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { appTag, credentialTag, userTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import { makeToken, parseTokenPrefix, type TokenPrefix } from '../pats/find-pat.ts';
import {
  type AppTokenRow,
  deleteTokensByName,
  findAppTokenByHash,
  findServiceAccount,
  insertAppTokenRows,
  tokenActions,
} from './store.ts';

export { markAppTokenUsed } from './store.ts';

const hintChars = 4;

type NewToken = Pick<AppTokenRow, 'tenant_id' | 'app_id' | 'kind' | 'name' | 'expires_at'> &
  Partial<Pick<AppTokenRow, 'id' | 'account_id' | 'rule_id' | 'instance_id' | 'is_read_only'>>;

export function newAppToken(
  prefix: TokenPrefix,
  token: NewToken,
  createdAt: Date,
): { secret: string; row: AppTokenRow } {
  const secret = makeToken(prefix);
  const row: AppTokenRow = {
    id: Bun.randomUUIDv7(),
    account_id: null,
    rule_id: null,
    instance_id: null,
    is_read_only: false,
    ...token,
    secret_hash: sha256(secret),
    hint: secret.slice(-hintChars),
    created_at: createdAt,
    last_used_at: null,
  };
  return { secret, row };
}

/** The caller of a token, whose expiry is not checked; null if its app or account does not allow it any more. */
export async function findAppTokenCaller(db: Db, hash: string) {
  const row = await findAppTokenByHash(db, hash);
  if (!row?.expires_at) return null;
  const { tenant_id: tenantId, app_id: appId, account_id, expires_at: expiresAt } = row;
  const principal = await findAppPrincipal(db, { tenantId, appId }, account_id ?? appId);
  if (!principal) return null;
  const caller: Caller = {
    ...principal,
    ...(row.is_read_only && { scope: readOnlyScope({ tenantId, appId }) }),
    credentialId: hash,
    expiresAt,
  };
  return {
    value: { caller, pat: null, appToken: { id: row.id, tenantId } },
    tags: [credentialTag(hash), appTag(appId), userTag(caller.userId)],
  };
}

const readOnlyScope = ({ tenantId, appId }: AppRef): TokenScope => ({
  tenantId,
  apps: [appId],
  actions: ['read', 'storage'],
  isReadOnly: true,
});

/** The app itself, or one of its service accounts; null if it can no longer act. */
export async function findAppPrincipal(
  db: Db,
  ownApp: AppRef,
  id: string,
): Promise<Omit<Caller, 'credentialId' | 'expiresAt'> | null> {
  const { tenantId, appId } = ownApp;
  const app = await findAppById({ db }, { id: appId });
  if (app?.tenantId !== tenantId) return null;
  if (id === appId) {
    if (app.record !== 'active' || app.runtime === 'suspended') return null;
    const name = `app ${app.slug}`;
    const scope = { tenantId, apps: [appId], actions: ['read', 'write', 'storage'] as const };
    return { kind: 'app', userId: appId, email: name, name, ownApp, scope };
  }
  const account = await findServiceAccount(db, ownApp, id);
  if (!account) return null;
  const name = `service account ${app.slug}/${account.name}`;
  const scope = { tenantId, apps: [appId], actions: tokenActions(account.actions) };
  return { kind: 'service_account', userId: account.id, email: name, name, ownApp, scope };
}

/** For one instance of an app: its first token, and the URL by which it gets the next ones until it ends. */
export async function issueInstanceTokens(
  db: Db,
  options: AppRef & { instanceId: string; isReadOnly: boolean; baseUrl: string; now: Date },
): Promise<{ SVC_APP_TOKEN: string; SVC_APP_TOKEN_URL: string }> {
  const { tenantId, appId, instanceId, isReadOnly, baseUrl, now } = options;
  const shared = {
    tenant_id: tenantId,
    app_id: appId,
    instance_id: instanceId,
    name: 'instance',
    is_read_only: isReadOnly,
  };
  const renewal = newAppToken('svcren_', { ...shared, kind: 'renewal', expires_at: null }, now);
  const token = newAppToken('svcapp_', { ...shared, kind: 'app', expires_at: appTokenExpiry(now) }, now);
  await insertAppTokenRows(db, [renewal.row, token.row]);
  return { SVC_APP_TOKEN: token.secret, SVC_APP_TOKEN_URL: `${baseUrl}${appTokenPrefix}${renewal.secret}` };
}

/** For one command of an app, which may take longer than a token of an instance is valid. */
export async function issueCommandToken(
  db: Db,
  options: AppRef & { commandId: string; timeoutMs: number; now: Date },
): Promise<{ SVC_APP_TOKEN: string }> {
  const { tenantId, appId, commandId, timeoutMs, now } = options;
  const token = newAppToken(
    'svcapp_',
    {
      tenant_id: tenantId,
      app_id: appId,
      kind: 'app',
      name: commandTokenName(commandId),
      expires_at: new Date(now.getTime() + timeoutMs),
    },
    now,
  );
  await insertAppTokenRows(db, [token.row]);
  return { SVC_APP_TOKEN: token.secret };
}

export function deleteCommandTokens(db: Db, appId: string, commandId: string): Promise<void> {
  return deleteTokensByName(db, appId, commandTokenName(commandId));
}

const commandTokenName = (commandId: string) => `command ${commandId}`;

const appTokenExpiry = (now: Date) => new Date(now.getTime() + appTokenSeconds * 1000);

/** `POST /app-token/<secret>`: the next token of an instance, in the form of an OAuth response. */
const renewalsPerMinuteMax = 10;

export function createAppTokenHandler({ db, now }: { db: Db; now: () => Date }): RequestHandler {
  const rateLimit = createRateLimit(now);
  return async (request, url, info) => {
    info.setRoute('app token');
    if (request.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    const secret = url.pathname.slice(appTokenPrefix.length);
    const renewal =
      parseTokenPrefix(secret) === 'svcren_' ? await findAppTokenByHash(db, sha256(secret)) : undefined;
    if (renewal?.kind !== 'renewal') throw fail('unauthenticated', { detail: 'The instance has ended.' });
    rateLimit(renewal.id, renewalsPerMinuteMax);
    const { tenant_id, app_id, instance_id, name, is_read_only } = renewal;
    if (!(await findAppPrincipal(db, { tenantId: tenant_id, appId: app_id }, app_id)))
      throw fail('unauthenticated', { detail: 'The app is not active.' });
    const token = newAppToken(
      'svcapp_',
      { tenant_id, app_id, instance_id, name, is_read_only, kind: 'app', expires_at: appTokenExpiry(now()) },
      now(),
    );
    await insertAppTokenRows(db, [token.row]);
    return Response.json(
      { access_token: token.secret, token_type: 'Bearer', expires_in: appTokenSeconds },
      { headers: { 'cache-control': 'no-store' } },
    );
  };
}
