import type { Interaction, Provider } from 'oidc-provider';
import { redirect, type WebContext } from './web-context.ts';

/** Hands the person who has proved who they are back to the provider, which opens the session. */
export async function finishLogin(
  provider: Provider,
  ctx: WebContext,
  interaction: Interaction,
  login: { userId: string; how: 'pwd' | 'fed' },
): Promise<void> {
  const session = await provider.Session.get(ctx);
  if (session.accountId !== undefined && session.accountId !== login.userId) {
    // Someone else was signed in in this browser; nothing of theirs may carry over.
    await session.destroy();
    interaction.session = undefined;
  }
  interaction.result = {
    ...interaction.lastSubmission,
    login: { accountId: login.userId, amr: [login.how] },
  };
  await interaction.persist();
  redirect(ctx, interaction.returnTo);
}
