import type { GitLinkPoll } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';
import type { GitAccount, UserTokens } from '../drivers/git-host/git-host.ts';
import type { TenantCtx, TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import type { RunMode } from '../plumbing/route.ts';
import { readDeviceCode } from './device-code.ts';
import type { GitParts } from './git-parts.ts';
import { keepLink, planLink } from './keep-link.ts';
import { onDenied, onLinked } from './on-linked.ts';
import { ownTokenOf } from './own-token-of.ts';
import { accountRecord } from './rules.ts';

export type Polled = { intervalSeconds: number } & (
  | { status: 'previewed' | 'pending' | 'slow_down' }
  | { status: 'approved'; tokens: UserTokens; account: GitAccount }
);

/** Asks the host once, before the transaction. A preview reads the code and asks nobody. */
export async function pollDeviceCode(
  parts: GitParts,
  ctx: TenantCtx,
  { text, mode }: { text: string; mode: RunMode },
): Promise<Polled> {
  const { db, gitHost } = parts;
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const code = await readDeviceCode(db, who, { text, host: gitHost.webUrl });
  const { intervalSeconds } = code;
  if (code.expiresAt <= ctx.now) throw fail('device_code_expired');
  if (mode === 'preview') return { status: 'previewed', intervalSeconds };
  const said = await gitHost.pollDeviceFlow(code.code);
  switch (said.status) {
    case 'pending':
      return { status: 'pending', intervalSeconds };
    case 'slow_down':
      return said;
    case 'expired':
      throw fail('device_code_expired');
    case 'denied':
      await onDenied(db, who, { deviceCode: text });
      throw fail('access_denied');
    case 'unknown':
      throw fail('not_found', { detail: 'The git host does not know the code, or not any more.' });
    case 'approved': {
      const account = await gitHost.asUser(said.tokens.token).account();
      await refuseAnother(parts, who.userId, account);
      return { status: 'approved', intervalSeconds, tokens: said.tokens, account };
    }
  }
}

/** Whose account it is at the built-in host is known: a code that somebody else was talked into approving is refused. */
async function refuseAnother(parts: GitParts, userId: string, account: GitAccount): Promise<void> {
  if (!parts.gitHost.isBuiltIn) return;
  const own = await parts.gitHost.asUser(await ownTokenOf(parts, { userId })).account();
  if (own.id !== account.id)
    throw fail('access_denied', { detail: 'The code was approved by somebody else than you.' });
}

export async function pollGitLink(
  ctx: TenantMutationCtx,
  { gitHost }: Pick<GitParts, 'gitHost'>,
  polled: Polled,
): Promise<z.output<typeof GitLinkPoll>> {
  const { intervalSeconds } = polled;
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const host = gitHost.webUrl;
  const waiting = {
    interval_seconds: intervalSeconds,
    next_poll_at: new Date(ctx.now.getTime() + intervalSeconds * 1000).toISOString(),
    account: null,
  };
  if (polled.status === 'approved') {
    const row = await keepLink(ctx, who, { host, ...polled });
    await onLinked(ctx, who);
    return { ...waiting, status: 'linked', account: accountRecord(row) };
  }
  // What it comes to once it is approved.
  if (polled.status === 'previewed') await planLink(ctx, who, host);
  else {
    const target = { kind: 'git_link', id: ctx.caller.userId, name: host };
    ctx.audit({ action: 'gitHost.pollLink', target, before: {}, after: {} });
  }
  return { ...waiting, status: polled.status === 'slow_down' ? 'slow_down' : 'pending' };
}
