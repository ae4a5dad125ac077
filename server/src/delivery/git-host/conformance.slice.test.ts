import { sql } from 'kysely';
import type { Caller } from '../../core/context.ts';
import { gitHostConformance } from '../../drivers/git/conformance-testing.ts';
import { newTenant, testDatabase } from '../../testing.ts';
import { hostToken, startBuiltIn } from './testing.ts';

gitHostConformance('the built-in host', async () => {
  const database = await testDatabase();
  const { host, another, baseUrl, approve, change, stop } = await startBuiltIn(database);
  const { tenant, member } = await newTenant(database.db);
  const other = await newTenant(database.db);
  const account = async (user: Caller) => {
    const token = await hostToken(database, user);
    return { token, login: (await host.asUser(token).account()).login };
  };
  const owner = await account(member);
  return {
    host,
    another,
    owner: tenant.slug,
    member: owner,
    outsider: await account(other.member),
    remove: async (repo) => {
      const headers = { authorization: `Bearer ${owner.token}` };
      const path = `/git/api/v3/repos/${repo.owner}/${repo.name}`;
      await fetch(baseUrl + path, { method: 'DELETE', headers });
    },
    approve: (userCode) => approve(userCode, member),
    deny: (userCode) => change(userCode, sql`denied_at = now()`),
    expire: (userCode) => change(userCode, sql`expires_at = now() - interval '1 second'`),
    wait: (userCode) => change(userCode, sql`last_poll_at = null`),
    stop: async () => {
      await stop();
      await database.close();
    },
  };
});
