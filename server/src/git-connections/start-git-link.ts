import type { GitDeviceCode } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';
import type { DeviceGrant } from '../drivers/git-host/git-host.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import type { RunMode } from '../plumbing/route.ts';
import { makeDeviceCode } from './device-code.ts';
import type { GitParts } from './git-parts.ts';

/** A preview asks for no code: nobody could use it. */
export async function askForDeviceCode(
  { gitHost }: Pick<GitParts, 'gitHost'>,
  { mode }: { mode: RunMode },
): Promise<DeviceGrant | null> {
  return mode === 'preview' ? null : gitHost.beginDeviceFlow();
}

export async function startGitLink(
  ctx: TenantMutationCtx,
  { gitHost }: Pick<GitParts, 'gitHost'>,
  asked: DeviceGrant | null,
): Promise<z.output<typeof GitDeviceCode>> {
  const host = gitHost.webUrl;
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const grant = asked ?? nothingAsked(host);
  const { text, expiresAt } = await makeDeviceCode(ctx.db, who, { grant, host, now: ctx.now });
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

const nothingAsked = (host: string): DeviceGrant => ({
  ...{ deviceCode: '', userCode: '', verificationUri: host, expiresInSeconds: 0, intervalSeconds: 0 },
});
