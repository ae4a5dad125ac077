import { exchangedTokenSeconds } from '@svc/contract/service-accounts.ts';
import { createLocalJWKSet, decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Logger } from 'pino';
import type { Caller } from '../../core/context.ts';
import { type OperatorDeps, runAs } from '../../core/mutation.ts';
import { IssuerError, type IssuerKeys } from '../../drivers/oidc/issuer-keys.ts';
import { findAppPrincipal, newAppToken } from './app-tokens.ts';
import {
  findServiceAccountByName,
  insertAppTokenRows,
  listTrustRules,
  matchesClaims,
  type ServiceAccountRow,
  type TrustRuleRow,
} from './store.ts';

export interface ExchangeDeps extends OperatorDeps {
  issuers: IssuerKeys;
  now: () => Date;
}

export interface ExchangeRequest {
  serviceAccount: string;
  subjectToken: string;
  address: string;
  requestId: string;
}

/** The reason is for the log: it could tell strangers which accounts exist and what they trust. */
export class ExchangeRefused extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'ExchangeRefused';
  }
}

/** Asymmetric ones only: `none` and secrets shared with the issuer prove nothing here. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const clockSkewSeconds = 30;

/** A token of a service account for a token of an issuer that it trusts (RFC 8693). */
export async function exchangeToken(deps: ExchangeDeps, request: ExchangeRequest) {
  const account = await findServiceAccountByName(deps.db, request.serviceAccount);
  if (!account) throw new ExchangeRefused('no such service account');
  const ownApp = { tenantId: account.tenant_id, appId: account.app_id };
  const principal = await findAppPrincipal(deps.db, ownApp, account.id);
  if (!principal) throw new ExchangeRefused('the app of the service account is deleted');
  const { rule, claims } = await findTrustRule(deps, account, request.subjectToken);
  // PostgreSQL stores no NUL, and people read the rest.
  const subject = String(claims.sub)
    .replace(/\p{Cc}/gu, '')
    .slice(0, subjectCharsMax);
  const now = deps.now();
  const expiresAt = new Date(now.getTime() + exchangedTokenSeconds * 1000);
  const { row, secret } = newAppToken(
    'svcsat_',
    {
      tenant_id: account.tenant_id,
      app_id: account.app_id,
      account_id: account.id,
      rule_id: rule.id,
      kind: 'exchanged',
      name: subject,
      expires_at: expiresAt,
    },
    now,
  );
  const caller: Caller = { ...principal, credentialId: row.secret_hash, expiresAt };
  const change = {
    name: 'serviceTokens.exchange',
    auditTenantId: account.tenant_id,
    requestId: request.requestId,
  };
  await runAs(deps, caller, change, async (ctx) => {
    await insertAppTokenRows(ctx.db, [row]);
    ctx.audit({
      action: change.name,
      appId: account.app_id,
      target: { kind: 'service_account', id: account.id, name: account.name },
      before: null,
      after: {
        issuer: rule.issuer,
        subject,
        rule: rule.id,
        address: request.address,
        expires_in_seconds: exchangedTokenSeconds,
      },
    });
  });
  return { secret, expiresIn: exchangedTokenSeconds, actions: account.actions };
}

const subjectCharsMax = 200;

async function findTrustRule(
  { db, issuers, now }: ExchangeDeps,
  account: ServiceAccountRow,
  token: string,
): Promise<{ rule: TrustRuleRow; claims: JWTPayload }> {
  const issuer = readIssuer(token);
  const rules = (await listTrustRules(db, [account.id])).filter((rule) => rule.issuer === issuer);
  if (rules.length === 0) throw new ExchangeRefused(`the issuer ${issuer} is not trusted`);
  const claims = await verifyToken(issuers, { issuer, token, now: now() });
  const audiences = [claims.aud ?? []].flat();
  const forAudience = rules.filter((rule) => audiences.includes(rule.audience));
  if (forAudience.length === 0) throw new ExchangeRefused(`no rule for the audience ${audiences.join(', ')}`);
  const rule = forAudience.find((it) => matchesClaims(it.claims, claims));
  if (!rule) throw new ExchangeRefused(`no rule matches the claims of ${claims.sub}`);
  return { rule, claims };
}

function readIssuer(token: string): string {
  try {
    return String(decodeJwt(token).iss);
  } catch (cause) {
    throw new ExchangeRefused('the subject token is not a JWT', { cause });
  }
}

/** An unknown key is looked up once more: the issuer may have replaced its keys. */
async function verifyToken(
  issuers: IssuerKeys,
  { issuer, token, now }: { issuer: string; token: string; now: Date },
): Promise<JWTPayload> {
  const options = {
    issuer,
    algorithms,
    currentDate: now,
    clockTolerance: clockSkewSeconds,
    requiredClaims: ['exp', 'aud', 'sub'],
  };
  try {
    const found = await issuers.get(issuer);
    try {
      return (await jwtVerify(token, createLocalJWKSet(found.keys), options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const { keys } = await issuers.get(issuer, found.fetchedAt);
      return (await jwtVerify(token, createLocalJWKSet(keys), options)).payload;
    }
  } catch (cause) {
    if (cause instanceof errors.JOSEError || cause instanceof IssuerError)
      throw new ExchangeRefused(cause.message, { cause });
    throw cause;
  }
}

export function logRefusal(
  log: Logger,
  { serviceAccount, address, requestId }: ExchangeRequest,
  error: ExchangeRefused,
) {
  log.info(
    { service_account: serviceAccount, address, request_id: requestId, reason: error.message },
    'token exchange refused',
  );
}
