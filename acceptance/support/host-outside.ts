import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin } from './commands.ts';
import { behind } from './database.ts';
import { approveCode } from './git-repos.ts';
import { type Call, caller, newTenant, type Person, type Tenant } from './people.ts';
import { startEmbedded } from './rows-proof.ts';
import { temporaryFolder } from './server.ts';
import { newPasswordUser, type PasswordUser } from './sign-in.ts';
import { until } from './until.ts';

export interface HostOutside {
  /** For a server whose git host it is. */
  env: Record<string, string>;
  tenant: Tenant;
  /** Somebody with an account there, who can make repositories. */
  newAccount(): Promise<PasswordUser & Person>;
}

/** The git host of one server as that of another: one that people have to link their accounts at. */
export async function startHostOutside(): Promise<HostOutside> {
  const server = await startEmbedded();
  const tenant = await newTenant(server);
  const database = behind(server);
  const [row] = await database.query("select value from svc.platform_keys where name = 'git_host.app'");
  await database.close();
  const app = typeof row?.value === 'string' ? JSON.parse(row.value) : row?.value;
  const keyFile = join(temporaryFolder(), 'app.pem');
  writeFileSync(keyFile, app.privateKey, { mode: 0o600 });
  return {
    tenant,
    env: {
      ...{ SVC_GIT_HOST: 'github', SVC_GIT_HOST_URL: `${server.baseUrl}/git` },
      ...{ SVC_GIT_HOST_CLIENT_ID: app.clientId, SVC_GIT_HOST_APP_ID: String(app.appId) },
      ...{ SVC_GIT_HOST_APP_SLUG: app.slug, SVC_GIT_HOST_PRIVATE_KEY_FILE: keyFile },
      SVC_GIT_HOST_WEBHOOK_SECRET: app.webhookSecret,
    },
    async newAccount() {
      const user = await newPasswordUser(server, tenant.slug);
      const { access_token } = await admin(server, ['tokens', 'issue', '--user', user.email]);
      const token = String(access_token);
      return { ...user, token, call: caller(server, { authorization: `Bearer ${token}` }) };
    },
  };
}

/** Approves the code at the host as that account, and asks the platform until the account is linked. */
export async function linkBy(
  call: Call,
  base: string,
  code: { device_code: string; user_code: string; verification_uri: string },
  account: PasswordUser,
): Promise<void> {
  await approveCode({ address: code.verification_uri, code: code.user_code }, account);
  await until(
    'the account is linked',
    async () => {
      const { device_code } = code;
      const { status, body } = await call('POST', `${base}/git-host/link/poll`, { device_code });
      if (status !== 200) throw new Error(`The code was refused: ${JSON.stringify(body)}`);
      return body.status === 'linked';
    },
    60_000,
  );
}
