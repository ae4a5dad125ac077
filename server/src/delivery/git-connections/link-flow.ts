import type { GitDeviceCode, GitLinkPoll } from '@svc/contract/git-host.shapes.ts';
import { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { seal, unseal } from '../../core/seal.ts';
import type { DeviceGrant, GitAccount, UserTokens } from '../../drivers/git/git-host.ts';
import type { RunMode } from '../../http/router.ts';
import { planLink, storeLink } from './accounts.ts';
import { accountRecord, type GitDeps, type LinkEvents, type TenantUser, tenantUser } from './rules.ts';
import { loadSealingKey, signOwnToken } from './user-tokens.ts';

type LinkDeps = GitDeps & { linkEvents: LinkEvents };

export async function requestDeviceCode({ gitHost }: Pick<GitDeps, 'gitHost'>, { mode }: { mode: RunMode }) {
  return mode === 'preview' ? null : gitHost.beginDeviceFlow();
}

export async function startGitLink(
  ctx: TenantMutationCtx,
  { gitHost }: Pick<GitDeps, 'gitHost'>,
  issued: DeviceGrant | null,
): Promise<z.output<typeof GitDeviceCode>> {
  const host = gitHost.webUrl;
  const user = tenantUser(ctx);
  const grant = issued ?? previewGrant(host);
  const { text, expiresAt } = await sealDeviceCode(ctx.db, user, { grant, host, now: ctx.now });
  ctx.audit({
    action: 'gitHost.startLink',
    target: { kind: 'git_link', id: ctx.caller.userId, name: host },
    before: null,
    after: { host, code_asked_at: ctx.now },
  });
  return {
    device_code: text,
    user_code: grant.userCode,
    verification_uri: grant.verificationUri,
    expires_at: expiresAt.toISOString(),
    interval_seconds: grant.intervalSeconds,
  };
}

const previewGrant = (host: string): DeviceGrant => ({
  deviceCode: '',
  userCode: '',
  verificationUri: host,
  expiresInSeconds: 0,
  intervalSeconds: 0,
});

export type PollResult = { intervalSeconds: number } & (
  | { status: 'previewed' | 'pending' | 'slow_down' }
  | { status: 'approved'; tokens: UserTokens; account: GitAccount }
);

export async function pollDeviceFlow(
  deps: LinkDeps,
  ctx: TenantCtx,
  { text, mode }: { text: string; mode: RunMode },
): Promise<PollResult> {
  const { db, gitHost } = deps;
  const user = tenantUser(ctx);
  const code = await openDeviceCode(db, user, { text, host: gitHost.webUrl });
  const { intervalSeconds } = code;
  if (code.expiresAt <= ctx.now) throw fail('device_code_expired');
  if (mode === 'preview') return { status: 'previewed', intervalSeconds };
  const result = await gitHost.pollDeviceFlow(code.code);
  switch (result.status) {
    case 'pending':
      return { status: 'pending', intervalSeconds };
    case 'slow_down':
      return result;
    case 'expired':
      throw fail('device_code_expired');
    case 'denied':
      await deps.linkEvents.denied(db, user, { deviceCode: text });
      throw fail('access_denied');
    case 'unknown':
      throw fail('not_found', { detail: 'The git host does not know this code. It may have expired.' });
    case 'approved': {
      const account = await gitHost.asUser(result.tokens.token).account();
      await checkApprover(deps, user.userId, account);
      return { status: 'approved', intervalSeconds, tokens: result.tokens, account };
    }
  }
}

/** At the built-in host the account's owner is known: reject a code that another user was tricked into approving. */
async function checkApprover(deps: GitDeps, userId: string, account: GitAccount): Promise<void> {
  if (!deps.gitHost.isBuiltIn) return;
  if ((await deps.gitHost.asUser(await signOwnToken(deps, { userId })).account()).id !== account.id)
    throw fail('access_denied', { detail: 'The code was approved by another user.' });
}

export async function pollGitLink(
  ctx: TenantMutationCtx,
  { gitHost, linkEvents }: LinkDeps,
  polled: PollResult,
): Promise<z.output<typeof GitLinkPoll>> {
  const { intervalSeconds } = polled;
  const user = tenantUser(ctx);
  const host = gitHost.webUrl;
  const waiting = {
    interval_seconds: intervalSeconds,
    next_poll_at: new Date(ctx.now.getTime() + intervalSeconds * 1000).toISOString(),
    account: null,
  };
  if (polled.status === 'approved') {
    const row = await storeLink(ctx, user, { host, ...polled });
    await linkEvents.linked(ctx, user);
    return { ...waiting, status: 'linked', account: accountRecord(row) };
  }
  if (polled.status === 'previewed') await planLink(ctx, user, host);
  else {
    const target = { kind: 'git_link', id: ctx.caller.userId, name: host };
    ctx.audit({ action: 'gitHost.pollLink', target, before: {}, after: {} });
  }
  return { ...waiting, status: polled.status === 'slow_down' ? 'slow_down' : 'pending' };
}

const boundTo = 'git device code';
const Content = z.object({
  code: z.string(),
  tenantId: z.string(),
  userId: z.string(),
  host: z.string(),
  expiresAt: z.coerce.date(),
  intervalSeconds: z.number(),
});
type DeviceCode = z.output<typeof Content>;

/** Sealed with the user id: nothing is stored before approval, and the code is useless to others. */
async function sealDeviceCode(
  db: Db,
  user: TenantUser,
  { grant, host, now }: { grant: DeviceGrant; host: string; now: Date },
): Promise<{ text: string; expiresAt: Date }> {
  const expiresAt = new Date(now.getTime() + grant.expiresInSeconds * 1000);
  const content: DeviceCode = {
    ...user,
    code: grant.deviceCode,
    host,
    expiresAt,
    intervalSeconds: grant.intervalSeconds,
  };
  const sealed = seal(await loadSealingKey(db), { text: JSON.stringify(content), boundTo });
  return { text: sealed.toString('base64url'), expiresAt };
}

async function openDeviceCode(db: Db, user: TenantUser, { text, host }: { text: string; host: string }) {
  const content = await unsealContent(db, text);
  if (content?.userId !== user.userId || content.tenantId !== user.tenantId || content.host !== host)
    throw fail('not_found', { detail: 'You have no such code in this tenant.' });
  return content;
}

async function unsealContent(db: Db, text: string): Promise<DeviceCode | null> {
  if (!/^[\w-]{40,}$/.test(text)) return null;
  const key = await loadSealingKey(db);
  try {
    return Content.parse(JSON.parse(unseal(key, { sealed: Buffer.from(text, 'base64url'), boundTo })));
  } catch {
    return null;
  }
}
