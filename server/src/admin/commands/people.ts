import { usageError } from '@svc/cli/framework/errors.ts';
import { sanitize } from '@svc/cli/framework/text.ts';
import type { tenantRoles } from '@svc/contract/identity.ts';
import type { resourceTiers } from '@svc/contract/limits.ts';
import { findAppRow } from '../../apps/record/find-app.ts';
import { isAppRef } from '../../apps/record/rules.ts';
import { type Ctx, platformTenantId } from '../../core/context.ts';
import { runAsOperator } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { resetFactors } from '../../identity/factors/factors.ts';
import { issueAccessToken } from '../../identity/sessions/issue-token.ts';
import { createScimToken, listScimTokens, revokeScimToken } from '../../people/scim/tokens.ts';
import { reactivateMember, setMember } from '../../people/tenants/members.ts';
import { parseTenantName } from '../../people/tenants/rules.ts';
import { createTenant, findTenant, listTenants, updateTenant } from '../../people/tenants/tenants.ts';
import {
  activateUser,
  createUser,
  findUser,
  listUsers,
  loadPasswordRules,
  setPassword,
  suspendUser,
} from '../../people/users/users.ts';
import { type AdminCtx, listResult, type Result, type System } from '../command.ts';
import { withSystem, withSystemOrNew } from '../system.ts';

type Tier = (typeof resourceTiers)[number];

export async function runCreateTenant(
  ctx: AdminCtx,
  args: { positionals: { slug: string }; flags: { name?: string; 'max-resource-tier'?: Tier } },
): Promise<Result> {
  const { name, 'max-resource-tier': maxResourceTier } = args.flags;
  const { slug } = args.positionals;
  const tenant = await withSystemOrNew(ctx, (system) =>
    asPlatform(system, 'tenants.create', (operator) =>
      createTenant(operator, { slug, name, maxResourceTier }),
    ),
  );
  return { json: { ...tenant }, text: `Created tenant ${tenant.slug} (${tenant.id}).\n` };
}

export async function runUpdateTenant(
  ctx: AdminCtx,
  args: {
    positionals: { tenant: string };
    flags: { name?: string; 'max-resource-tier'?: Tier; 'require-second-factor'?: 'yes' | 'no' };
  },
): Promise<Result> {
  const { name, 'max-resource-tier': maxResourceTier, 'require-second-factor': required } = args.flags;
  const requireSecondFactor = required === undefined ? undefined : required === 'yes';
  const tenant = await withSystem(ctx, async (system) => {
    const { id } = await requireTenant(system, args.positionals.tenant);
    return runAsOperator(system, { name: 'tenants.update', auditTenantId: id }, (operator) =>
      updateTenant(operator, { tenantId: id, name, maxResourceTier, requireSecondFactor }),
    );
  });
  return {
    json: { ...tenant },
    text: `Updated tenant ${tenant.slug}: name ${tenant.name}, largest tier ${tenant.max_resource_tier}, second factor ${tenant.require_second_factor ? 'required' : 'optional'}.\n`,
  };
}

export async function runListTenants(ctx: AdminCtx): Promise<Result> {
  const items = await withSystem(ctx, listTenants);
  return listResult(['slug', 'name', 'max_resource_tier', 'created_at', 'id'], items);
}

export async function runListUsers(ctx: AdminCtx): Promise<Result> {
  return listResult(['email', 'name', 'status', 'id'], await withSystem(ctx, listUsers));
}

export async function runCreateUser(
  ctx: AdminCtx,
  args: { positionals: { email: string }; flags: { name?: string; 'password-stdin'?: boolean } },
): Promise<Result> {
  const { name, 'password-stdin': fromStdin } = args.flags;
  const { email } = args.positionals;
  const password = fromStdin ? await readPassword(ctx) : undefined;
  const user = await withSystemOrNew(ctx, (system) =>
    asPlatform(system, 'users.create', (operator) => createUser(operator, { email, name, password })),
  );
  return { json: { ...user }, text: `Created user ${user.email} (${user.id}).\n` };
}

interface UserArgs {
  positionals: { user: string };
}

export async function runSuspendUser(ctx: AdminCtx, args: UserArgs): Promise<Result> {
  const user = await changeUser(ctx, args.positionals.user, 'users.suspend', suspendUser);
  return { json: { ...user }, text: `Suspended ${user.email}; all sessions have ended.\n` };
}

export async function runActivateUser(ctx: AdminCtx, args: UserArgs): Promise<Result> {
  const user = await changeUser(ctx, args.positionals.user, 'users.activate', activateUser);
  return { json: { ...user }, text: `Activated ${user.email}.\n` };
}

export async function runSetPassword(
  ctx: AdminCtx,
  { positionals, flags }: UserArgs & { flags: { 'password-stdin'?: boolean } },
): Promise<Result> {
  if (!flags['password-stdin'])
    throw usageError(
      '--password-stdin is required.',
      'Write the password to standard input: arguments are visible to other users of this machine.',
    );
  const password = await readPassword(ctx);
  const { id, email } = await changeUser(
    ctx,
    positionals.user,
    'users.set-password',
    async (operator, user) => {
      await setPassword(operator, { userId: user.id, password });
      return user;
    },
  );
  return { json: { id, email }, text: `Set the password of ${email}; all sessions have ended.\n` };
}

export async function runResetFactors(ctx: AdminCtx, args: UserArgs): Promise<Result> {
  const { id, email, removed } = await changeUser(
    ctx,
    args.positionals.user,
    'users.reset-factors',
    async (operator, user) => ({ ...user, removed: await resetFactors(operator, user) }),
  );
  const text = `Removed ${removed} second factors and all recovery codes of ${email}; the password alone signs in.\n`;
  return { json: { id, email, removed }, text };
}

export async function runSetMember(
  ctx: AdminCtx,
  { flags }: { flags: { tenant: string; user: string; role: (typeof tenantRoles)[number] | 'none' } },
): Promise<Result> {
  const { role } = flags;
  const { tenant, user, isActivated } = await withSystem(ctx, async (system) => {
    const tenant = await requireTenant(system, flags.tenant);
    const user = await requireUser(system, flags.user);
    const input = { tenantId: tenant.id, userId: user.id };
    const isActivated = await runAsOperator(
      system,
      { name: 'members.set', auditTenantId: tenant.id },
      async (operator) => {
        const member = await setMember(operator, { ...input, role });
        if (member?.status !== 'deactivated') return false;
        await reactivateMember(operator, input);
        return true;
      },
    );
    return { tenant, user, isActivated };
  });
  const state =
    role === 'none'
      ? `is no longer a member of ${tenant.slug}`
      : `is ${role} of ${tenant.slug}${isActivated ? ', and active again' : ''}`;
  return { json: { tenant_id: tenant.id, user_id: user.id, role }, text: `${user.email} ${state}.\n` };
}

const ttlMsDefault = 3_600_000;

export async function runIssueToken(
  ctx: AdminCtx,
  { flags }: { flags: { user: string; ttl?: number; through?: string } },
): Promise<Result> {
  const ttlSeconds = Math.ceil((flags.ttl ?? ttlMsDefault) / 1000);
  const { token, expiresAt } = await withSystem(ctx, async (system) => {
    const { id: userId } = await requireUser(system, flags.user);
    const app = flags.through === undefined ? null : await requireApp(system, flags.through);
    // The admins of the app's tenant see in their audit log who can act in it.
    const operation = { name: 'tokens.issue', auditTenantId: app?.tenantId ?? platformTenantId };
    return runAsOperator(system, operation, (operator) =>
      issueAccessToken(operator, { userId, ttlSeconds, throughApp: app?.id }),
    );
  });
  return { json: { access_token: token, expires_at: expiresAt.toISOString() }, text: `${token}\n` };
}

type Operator = Parameters<Parameters<typeof runAsOperator>[2]>[0];

async function changeUser<T>(
  ctx: AdminCtx,
  ref: string,
  operation: string,
  change: (operator: Operator, user: { userId: string; id: string; email: string }) => Promise<T>,
): Promise<T> {
  return withSystem(ctx, async (system) => {
    const { id, email } = await requireUser(system, ref);
    return asPlatform(system, operation, (operator) => change(operator, { userId: id, id, email }));
  });
}

function asPlatform<T>(system: System, name: string, work: (operator: Operator) => Promise<T>): Promise<T> {
  return runAsOperator(system, { name, auditTenantId: platformTenantId }, work);
}

async function requireUser(ctx: Pick<Ctx, 'db'>, ref: string) {
  const user = await findUser(ctx, { ref });
  if (!user) throw fail('not_found', { detail: `There is no user ${sanitize(ref)}.` });
  return user;
}

async function requireTenant(ctx: Pick<Ctx, 'db'>, ref: string) {
  const tenant = await findTenant(ctx, { ref });
  if (!tenant) throw fail('not_found', { detail: `There is no tenant ${sanitize(ref)}.` });
  return tenant;
}

async function requireApp(system: System, ref: string): Promise<{ id: string; tenantId: string }> {
  const [tenantRef = '', appRef = '', ...rest] = ref.split('/');
  if (tenantRef === '' || appRef === '' || rest.length > 0)
    throw usageError('--through takes <tenant>/<app>, such as acme/lunch.');
  const { id: tenantId } = await requireTenant(system, tenantRef);
  const app = isAppRef(appRef) ? await findAppRow(system.db, tenantId, appRef) : undefined;
  if (!app) throw fail('not_found', { detail: `There is no app ${sanitize(ref)}.` });
  return { id: app.id, tenantId };
}

async function readPassword(ctx: AdminCtx): Promise<string> {
  await loadPasswordRules();
  const text = (await ctx.stdin()).replace(/\r?\n$/, '');
  if (text === '') throw usageError('There is no password on standard input.');
  if (/[\r\n]/.test(text)) throw usageError('The password on standard input has more than one line.');
  return text;
}

export async function runCreateScimToken(
  ctx: AdminCtx,
  args: { positionals: { tenant: string }; flags: { name?: string } },
): Promise<Result> {
  const name = parseTenantName(args.flags.name ?? 'directory');
  const token = await withSystem(ctx, async (system) => {
    const { id: tenantId } = await requireTenant(system, args.positionals.tenant);
    return runAsOperator(system, { name: 'scimTokens.create', auditTenantId: tenantId }, (operator) =>
      createScimToken(operator, { tenantId, name }),
    );
  });
  const { secret, ...record } = token;
  const url = `${ctx.config().baseUrl}/scim/v2`;
  return { json: { ...record, token: secret, url }, text: `${secret}\n` };
}

export async function runListScimTokens(
  ctx: AdminCtx,
  args: { positionals: { tenant: string } },
): Promise<Result> {
  const items = await withSystem(ctx, async (system) => {
    const { id: tenantId } = await requireTenant(system, args.positionals.tenant);
    return listScimTokens(system, { tenantId });
  });
  return listResult(['id', 'name', 'hint', 'status', 'created_at', 'last_used_at'], items);
}

export async function runRevokeScimToken(
  ctx: AdminCtx,
  args: { positionals: { tenant: string; token: string } },
): Promise<Result> {
  const token = await withSystem(ctx, async (system) => {
    const { id: tenantId } = await requireTenant(system, args.positionals.tenant);
    return runAsOperator(system, { name: 'scimTokens.revoke', auditTenantId: tenantId }, (operator) =>
      revokeScimToken(operator, { tenantId, id: args.positionals.token }),
    );
  });
  return { json: { ...token }, text: `Revoked ${token.name} (${token.id}).\n` };
}
