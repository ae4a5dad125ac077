import { randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localGrantType, localLoginFile } from '@svc/contract/identity.ts';
import type { Provider } from 'oidc-provider';
import { sha256 } from '../../core/values.ts';
import { findUser } from '../../people/users/users.ts';
import { recordSignInEvent, type SignInDeps } from '../account/sign-ins.ts';
import { cliScope } from '../sessions/clients.ts';
import { getClientAddress, getDevice, getRequestId, wasForwarded } from './web-context.ts';

interface LocalLoginConfig {
  baseUrl: string;
  dataDir: string;
}

/** Reading this file proves being the user who runs the server, on its machine. */
export function openLocalLogin(config: LocalLoginConfig, secret = randomBytes(32).toString('base64url')) {
  const next = join(config.dataDir, `${localLoginFile}.${process.pid}`);
  rmSync(next, { force: true });
  writeFileSync(next, `${JSON.stringify({ base_url: config.baseUrl, secret })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  renameSync(next, join(config.dataDir, localLoginFile));
  return secret;
}

/** Only its own secret: another server that shares the data dir may have replaced the file. */
export function closeLocalLogin(config: LocalLoginConfig, secret: string | null): void {
  const file = join(config.dataDir, localLoginFile);
  if (secret === null || !existsSync(file) || !readFileSync(file, 'utf8').includes(secret)) return;
  rmSync(file, { force: true });
}

interface LocalGrantOptions extends SignInDeps {
  provider: Provider;
  errors: typeof import('oidc-provider')['errors'];
  secret: string;
  localUser: () => Promise<string | null>;
}

export function registerLocalGrant(options: LocalGrantOptions): void {
  const { db, provider, errors, secret, localUser } = options;
  provider.registerGrantType<{ local_secret?: string }>(
    localGrantType,
    async (ctx) => {
      const { client, params } = ctx.oidc;
      // Behind a local proxy, every client appears to be local.
      if (wasForwarded(ctx) || !isLoopback(getClientAddress(ctx))) {
        throw new errors.AccessDenied('local login works on the machine of the server only');
      }
      if (!equalInConstantTime(params.local_secret ?? '', secret))
        throw new errors.InvalidGrant('the local secret is wrong');
      const userId = await localUser();
      const user = userId === null ? null : await findUser({ db }, { ref: userId });
      if (user?.status !== 'active') throw new errors.InvalidGrant('there is no active user for local login');

      const accountId = user.id;
      await recordSignInEvent(options, {
        action: 'account.sign_in',
        user,
        method: 'local',
        address: getClientAddress(ctx),
        device: getDevice(ctx),
        requestId: getRequestId(ctx),
      });
      const grant = new provider.Grant({ accountId, clientId: client.clientId });
      grant.addOIDCScope(cliScope);
      const shared = { accountId, client, grantId: await grant.save(), gty: 'local', scope: cliScope };
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

/** Compares hashes, so that timing reveals neither content nor length. */
function equalInConstantTime(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)));
}
