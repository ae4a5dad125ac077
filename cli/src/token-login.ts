import { accessTokenSeconds } from '@svc/contract/identity.ts';
import type { Ctx } from './context.ts';
import { usage } from './errors.ts';
import type { NewLogin } from './save-login.ts';

/** An access token that was made elsewhere; it can not be renewed. */
export async function tokenFromInput(ctx: Ctx, baseUrl: string): Promise<NewLogin> {
  const token = (await ctx.io.readInput()).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw usage('Standard input does not hold one access token.');
  return { baseUrl, tokens: { access_token: token, expires_in: accessTokenSeconds } };
}
