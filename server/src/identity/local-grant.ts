import { timingSafeEqual } from 'node:crypto';
import { localGrantType } from '@svc/contract/identity.ts';
import type { Provider } from 'oidc-provider';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { findUser } from '../users/find-user.ts';
import { cliScope } from './provider-clients.ts';
import { clientAddressOf, wasForwarded } from './web-context.ts';

export interface LocalGrantOptions {
  db: Db;
  provider: Provider;
  errors: typeof import('oidc-provider')['errors'];
  secret: string;
  localUser: () => Promise<string | null>;
}

/** `svc login --local`: whoever can read the server's data dir, on its machine, is let in as the local user. */
export function registerLocalGrant({ db, provider, errors, secret, localUser }: LocalGrantOptions): void {
  provider.registerGrantType<{ local_secret?: string }>(
    localGrantType,
    async (ctx) => {
      const { client, params } = ctx.oidc;
      // Behind a proxy on this machine, everybody seems to be on it.
      if (wasForwarded(ctx) || !isLoopback(clientAddressOf(ctx))) {
        throw new errors.AccessDenied('local login works on the machine of the server only');
      }
      if (!equal(params.local_secret ?? '', secret))
        throw new errors.InvalidGrant('the local secret is wrong');
      const userId = await localUser();
      const user = userId === null ? null : await findUser({ db }, { ref: userId });
      if (user?.status !== 'active') throw new errors.InvalidGrant('there is no active user for local login');

      const accountId = user.id;
      const grant = new provider.Grant({ accountId, clientId: client.clientId });
      grant.addOIDCScope(cliScope);
      const grantId = await grant.save();
      const shared = { accountId, client, grantId, gty: 'local', scope: cliScope };
      const accessToken = new provider.AccessToken(shared);
      const refreshToken = new provider.RefreshToken({ ...shared, rotations: 0 });
      ctx.body = {
        access_token: await accessToken.save(),
        refresh_token: await refreshToken.save(),
        token_type: accessToken.tokenType,
        expires_in: accessToken.expiration,
        scope: cliScope,
      };
    },
    ['local_secret'],
  );
}

export function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i.test(address);
}

/** Over hashes, so that neither content nor length shows in the time it takes. */
function equal(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)));
}
