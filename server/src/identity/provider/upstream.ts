import { cleanName } from '@svc/contract/safe-names.ts';
import { sql } from 'kysely';
import type { Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { type MutationCtx, platformTenantId } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { EventSource } from '../../core/events.ts';
import { runAsOperator } from '../../core/mutation.ts';
import { rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { Failure } from '../../core/problem.ts';
import { followClaim } from '../../people/groups/members.ts';
import { loadMemberAttributes, setMemberAttributes } from '../../people/tenants/member-attributes.ts';
import { listTenantsOf } from '../../people/tenants/tenants.ts';
import { createUser, findUser, userNameCharsMax } from '../../people/users/users.ts';
import { hostCookieName } from '../credentials/find-credential.ts';
import { finishLogin, interactionPath } from './finish-login.ts';
import { messagePage } from './pages/pages.ts';
import {
  createUpstreamClient,
  isUpstreamUnavailable,
  type UpstreamChecks,
  type UpstreamIdentity,
  type UpstreamSettings,
} from './upstream-client.ts';
import {
  cookieOptions,
  getRequestId,
  type Middleware,
  redirect,
  showPage,
  type WebContext,
} from './web-context.ts';

interface UpstreamSubject {
  issuer: string;
  subject: string;
}

async function findLinkedUser(db: Db, { issuer, subject }: UpstreamSubject): Promise<string | null> {
  const { rows } = await sql<{ user_id: string }>`
    select user_id from svc.user_links where issuer = ${issuer} and subject = ${subject}`.execute(db);
  return rows[0]?.user_id ?? null;
}

async function insertUserLink(
  tx: Tx,
  { issuer, subject, userId, now }: UpstreamSubject & { userId: string; now: Date },
): Promise<void> {
  await sql`
    insert into svc.user_links (issuer, subject, user_id, created_at)
    values (${issuer}, ${subject}, ${userId}, ${now})`.execute(tx);
}

/**
 * A user whom a directory created and who has no way to sign in yet; null unless there is exactly one. A confirmed
 * address counts before an id, which any directory may have for anybody: it is that of the directory which created
 * the account, and of every other tenant that the account gives access to.
 */
async function lockUnclaimedUser(tx: Tx, { subject, email }: { subject: string; email: string | null }) {
  const { rows } = await sql<{ id: string; email: string }>`
    select u.id, u.email from svc.users u
    where u.provisioned_by is not null and u.password_hash is null
      and not exists (select from svc.user_links l where l.user_id = u.id)
      and (lower(u.email) = lower(${email}::text)
        or (exists (select from svc.scim_users s
            where s.user_id = u.id and s.tenant_id = u.provisioned_by and s.external_id = ${subject})
          and not exists (select from svc.memberships m
            left join svc.scim_users s on s.tenant_id = m.tenant_id and s.user_id = m.user_id
            where m.user_id = u.id and s.external_id is distinct from ${subject})))
    order by (lower(u.email) = lower(${email}::text)) is true desc
    limit 2 for no key update of u`.execute(tx);
  const confirmed = rows.find((row) => row.email.toLowerCase() === email?.toLowerCase());
  return confirmed ?? (rows.length === 1 ? (rows[0] ?? null) : null);
}

interface UpstreamDeps {
  db: Db;
  events: EventSource;
  provider: Provider;
  baseUrl: string;
  log: Logger;
  settings: UpstreamSettings;
}

const callbackPath = '/oauth/upstream/callback';
const beginPattern = /^\/interaction\/([\w-]{1,100})\/upstream$/;
const signInMinutesMax = 10;

export function createUpstream(deps: UpstreamDeps): Middleware {
  const client = createUpstreamClient(deps.settings);
  const { name: upstreamName } = deps.settings;
  const cookie = { ...cookieOptions(deps.baseUrl), path: '/' };
  const cookieName = (state: string) => hostCookieName(deps.baseUrl, `svc_upstream_${state.slice(0, 12)}`);
  return async (ctx, next) => {
    if (ctx.method !== 'GET') return next();
    if (beginPattern.test(ctx.path)) return begin(ctx);
    if (ctx.path === '/upstream/callback') return finish(ctx);
    return next();
  };

  async function begin(ctx: WebContext): Promise<void> {
    const interaction = await deps.provider.interactionDetails(ctx.req, ctx.res);
    try {
      const { location, checks } = await client.begin(`${deps.baseUrl}${callbackPath}`);
      storePending(ctx, { ...checks, uid: interaction.uid });
      redirect(ctx, location);
    } catch (error) {
      showUnavailable(ctx, error, interactionPath(interaction));
    }
  }

  async function finish(ctx: WebContext): Promise<void> {
    const callback = new URL(`${callbackPath}${ctx.search}`, deps.baseUrl);
    const pending = takePending(ctx, callback.searchParams.get('state') ?? '');
    const interaction = pending && (await deps.provider.Interaction.find(pending.uid));
    if (!interaction) {
      const text = 'The sign-in took too long, or was started in another browser. Please start again.';
      return showMessage(ctx, 400, 'This sign-in has expired', text, '/');
    }
    const back = interactionPath(interaction);
    if (callback.searchParams.get('error') === 'access_denied') {
      return showMessage(ctx, 403, 'The sign-in was cancelled', `${upstreamName} did not sign you in.`, back);
    }
    let identity: UpstreamIdentity;
    try {
      identity = await client.finish(callback, pending);
    } catch (error) {
      if (isUpstreamUnavailable(error)) return showUnavailable(ctx, error, back);
      deps.log.warn({ err: error, request_id: getRequestId(ctx) }, 'upstream sign-in failed');
      const text = `${upstreamName} sent an invalid response. Please start again.`;
      return showMessage(ctx, 400, 'The sign-in failed', text, back);
    }
    const userId =
      (await findLinkedUser(deps.db, identity)) ??
      (await linkProvisioned(ctx, identity)) ??
      (await create(ctx, identity, back));
    const user = userId === null ? null : await findUser(deps, { ref: userId });
    if (user?.status === 'active') {
      await followGroups(ctx, user.id, identity.groups);
      await followAttributes(ctx, user.id, identity.attributes);
      await finishLogin(deps, ctx, interaction, { user, method: 'upstream' });
    } else if (user) {
      showMessage(ctx, 403, 'This account is suspended', 'Ask your administrator.', back);
    }
  }

  /** A person whom a directory created signs in for the first time. */
  async function linkProvisioned(ctx: WebContext, identity: UpstreamIdentity): Promise<string | null> {
    return runAsOperator(
      { ...deps, outbox: rowsOnlyOutbox },
      signInChange(ctx, platformTenantId),
      (operator) => linkProvisionedUser(operator, identity),
    );
  }

  /** Fails the sign-in if it fails: a person who left a group must not keep what it gave. */
  async function followGroups(ctx: WebContext, userId: string, groups: string[] | null): Promise<void> {
    if (groups === null) return;
    for (const tenant of await listTenantsOf(deps, { userId }))
      await runAsOperator({ ...deps, outbox: rowsOnlyOutbox }, signInChange(ctx, tenant.id), (operator) =>
        followClaim(operator, { tenantId: tenant.id, userId, values: groups }),
      );
  }

  /** Like groups: a person whose attribute changed must not keep the rows of the previous value. */
  async function followAttributes(ctx: WebContext, userId: string, sent: Record<string, string>) {
    for (const tenant of await listTenantsOf(deps, { userId })) {
      const stored = await loadMemberAttributes(deps.db, tenant.id, userId);
      const changed = Object.entries(sent).filter(([name, value]) => value !== (stored[name] ?? ''));
      if (changed.length === 0) continue;
      const attributes = Object.fromEntries(changed);
      await runAsOperator({ ...deps, outbox: rowsOnlyOutbox }, signInChange(ctx, tenant.id), (operator) =>
        setMemberAttributes(operator, { tenantId: tenant.id, userId, attributes }),
      );
    }
  }

  async function create(ctx: WebContext, identity: UpstreamIdentity, back: string): Promise<string | null> {
    const { email } = identity;
    const noEmail = `${upstreamName} did not confirm your e-mail address.`;
    if (email === null || identity.emailVerified === false) {
      showMessage(ctx, 403, 'No e-mail address', noEmail, back);
      return null;
    }
    const change = signInChange(ctx, platformTenantId);
    try {
      return await runAsOperator({ ...deps, outbox: rowsOnlyOutbox }, change, (operator) =>
        createUpstreamUser(operator, { ...identity, email }),
      );
    } catch (error) {
      const code = error instanceof Failure ? error.code : null;
      if (code === 'validation_failed') showMessage(ctx, 403, 'No e-mail address', noEmail, back);
      else if (code !== 'unique_violation') throw error;
      // Another tab may have created the user concurrently.
      const created = await findLinkedUser(deps.db, identity);
      if (created === null && code === 'unique_violation') {
        const text = `An account with your e-mail address already exists, but it is not linked to ${upstreamName}. Ask your administrator.`;
        showMessage(ctx, 409, 'This e-mail address is in use', text, back);
      }
      return created;
    }
  }

  function showUnavailable(ctx: WebContext, error: unknown, back: string): void {
    deps.log.warn({ err: error, request_id: getRequestId(ctx) }, 'upstream provider unavailable');
    ctx.set('retry-after', '5');
    const text = 'Please try again in a moment, or sign in another way.';
    showMessage(ctx, 503, `${upstreamName} is unavailable`, text, back);
  }

  function showMessage(ctx: WebContext, status: number, title: string, text: string, href: string): void {
    const view = { title, text, requestId: getRequestId(ctx), link: { href, label: 'Back to sign-in' } };
    showPage(ctx, messagePage(view), status);
  }

  /** A signed cookie per sign-in, so that several tabs do not interfere. */
  function storePending(ctx: WebContext, pending: PendingSignIn): void {
    const value = Buffer.from(JSON.stringify(pending)).toString('base64url');
    ctx.cookies.set(cookieName(pending.state), value, { ...cookie, maxAge: signInMinutesMax * 60_000 });
  }

  function takePending(ctx: WebContext, state: string): PendingSignIn | null {
    if (!/^[\w-]{16,200}$/.test(state)) return null;
    const value = ctx.cookies.get(cookieName(state), { signed: true });
    if (!value) return null;
    ctx.cookies.set(cookieName(state), null, cookie);
    const pending = JSON.parse(Buffer.from(value, 'base64url').toString()) as PendingSignIn;
    return pending.state === state ? pending : null;
  }
}

const signInChange = (ctx: WebContext, auditTenantId: string) => ({
  name: 'user.sign_in_upstream',
  auditTenantId,
  requestId: getRequestId(ctx),
});

type PendingSignIn = UpstreamChecks & { uid: string };

/** An address that a user already has is refused and never linked: the upstream account may be somebody else's. */
async function createUpstreamUser(ctx: MutationCtx, identity: UpstreamIdentity & { email: string }) {
  const { issuer, subject, email, name } = identity;
  const user = await createUser(ctx, { email, name: cleanName(name ?? '', userNameCharsMax) });
  await linkUser(ctx, user, { issuer, subject });
  return user.id;
}

/** For an account of a directory without any sign-in, if the provider has the same id as the directory or confirms the address. */
async function linkProvisionedUser(ctx: MutationCtx, identity: UpstreamIdentity): Promise<string | null> {
  const { issuer, subject, emailVerified } = identity;
  const email = emailVerified === true ? identity.email : null;
  const user = await lockUnclaimedUser(ctx.db, { subject, email });
  if (user) await linkUser(ctx, user, { issuer, subject });
  return user?.id ?? null;
}

async function linkUser(
  ctx: MutationCtx,
  user: { id: string; email: string },
  { issuer, subject }: Pick<UpstreamIdentity, 'issuer' | 'subject'>,
): Promise<void> {
  await insertUserLink(ctx.db, { issuer, subject, userId: user.id, now: ctx.now });
  ctx.audit({
    action: 'users.link',
    target: { kind: 'user', id: user.id, name: user.email },
    before: null,
    after: { issuer, subject },
  });
}
