import { createSign } from 'node:crypto';
import { behind } from './database.ts';
import type { RunningServer } from './server.ts';

/** A token of the platform's own app at the built-in git host, for a tenant: with its key, which nobody outside has. */
export async function installationToken(server: RunningServer, tenantSlug: string): Promise<string> {
  const database = behind(server);
  const [row] = await database.query("select value from svc.platform_keys where name = 'git_host.app'");
  await database.close();
  const { appId, privateKey } = JSON.parse(String(row?.value));
  const now = Math.floor(Date.now() / 1000);
  const part = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url');
  const claims = { iss: String(appId), iat: now - 30, exp: now + 300 };
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`;
  const jwt = `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
  const ask = async (method: string, path: string) => {
    const answer = await fetch(`${server.baseUrl}/git/api/v3${path}`, {
      method,
      headers: { authorization: `Bearer ${jwt}` },
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const { id } = await ask('GET', `/orgs/${tenantSlug}/installation`);
  return (await ask('POST', `/app/installations/${id}/access_tokens`)).token;
}
