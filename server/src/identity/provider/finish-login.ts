import type { Interaction, Provider } from 'oidc-provider';
import type { UserRecord } from '../../people/users/rules.ts';
import { recordSuccess, signInLimits } from '../account/attempts.ts';
import { recordSignInEvent, type SignInDeps, type SignInMethod } from '../account/sign-ins.ts';
import { currentOrigin } from './browser-cookie.ts';
import { getClientAddress, getDevice, getRequestId, redirect, type WebContext } from './web-context.ts';

export function interactionPath(interaction: { uid: string }): string {
  return `/oauth/interaction/${interaction.uid}`;
}

export function signInDetails(ctx: WebContext) {
  return { address: getClientAddress(ctx), device: getDevice(ctx), requestId: getRequestId(ctx) };
}

export function signInOrigin(ctx: WebContext) {
  return { address: getClientAddress(ctx), browser: currentOrigin()?.browser ?? null };
}

/** After all factors. */
export async function finishLogin(
  { provider, ...deps }: SignInDeps & { provider: Provider },
  ctx: WebContext,
  interaction: Interaction,
  { user, method }: { user: Pick<UserRecord, 'id' | 'email'>; method: SignInMethod },
): Promise<void> {
  const origin = signInOrigin(ctx);
  const limits = await signInLimits(deps.db, user.email, origin);
  await recordSuccess(deps.db, limits, { userId: user.id, origin });
  await recordSignInEvent(deps, { ...signInDetails(ctx), action: 'account.sign_in', user, method });
  const session = await provider.Session.get(ctx);
  if (session.accountId !== undefined && session.accountId !== user.id) {
    // Another user was signed in in this browser: nothing of their session may remain.
    await session.destroy();
    interaction.session = undefined;
  }
  interaction.result = {
    ...interaction.lastSubmission,
    login: { accountId: user.id, amr: amrValues[method] },
  };
  await interaction.persist();
  redirect(ctx, interaction.returnTo);
}

/** RFC 8176. */
const amrValues: Record<SignInMethod, string[]> = {
  password: ['pwd'],
  upstream: ['fed'],
  local: ['user'],
  passkey: ['hwk', 'user', 'mfa'],
  password_and_passkey: ['pwd', 'hwk', 'mfa'],
  password_and_totp: ['pwd', 'otp', 'mfa'],
  password_and_recovery_code: ['pwd', 'otp', 'mfa'],
};
