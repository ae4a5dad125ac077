import { type RawBuilder, sql } from 'kysely';
import { builtInCredentials } from '../../../git-host/built-in-credentials.ts';
import { hostToken, startTestGitHost } from '../../../git-host/testing.ts';
import { openGitHost } from '../../../git-host-place.ts';
import { sha256 } from '../../../plumbing/canonical.ts';
import type { Caller } from '../../../plumbing/context.ts';
import { newTenant, type TestDatabase, testDatabase } from '../../../testing.ts';
import type { GitHostWorld } from '../conformance.ts';
import type { GitHost } from '../git-host.ts';

export interface BuiltIn {
  host: GitHost;
  another(): Promise<GitHost>;
  baseUrl: string;
  /** As the page of the host does it, once the person has said so there. */
  approve(userCode: string, by: Pick<Caller, 'userId'>): Promise<void>;
  change(userCode: string, set: RawBuilder<unknown>): Promise<void>;
  stop(): Promise<void>;
}

/** The built-in host on a database, served as the server serves it. */
export async function startBuiltIn(database: TestDatabase): Promise<BuiltIn> {
  const { db } = database;
  const serving = await startTestGitHost(database);
  const { baseUrl } = serving;
  const another = () =>
    openGitHost(
      { gitHost: { kind: 'built-in' }, baseUrl, host: '127.0.0.1', port: Number(new URL(baseUrl).port) },
      { builtIn: () => builtInCredentials(db) },
    );
  const host = await another();
  const change: BuiltIn['change'] = async (userCode, set) => {
    const { numAffectedRows } = await sql`update svc.git_host_device_codes set ${set}
      where user_code_hash = ${sha256(userCode)}`.execute(db);
    if (numAffectedRows !== 1n) throw new Error(`There is no code ${userCode}.`);
  };
  return {
    ...{ host, another, baseUrl, change, stop: () => serving.stop() },
    approve: (userCode, { userId }) => change(userCode, sql`approved_by = ${userId}`),
  };
}

export async function builtInWorld(): Promise<GitHostWorld> {
  const database = await testDatabase();
  const { host, another, baseUrl, approve, change, stop } = await startBuiltIn(database);
  const { tenant, member } = await newTenant(database.db);
  const other = await newTenant(database.db);
  const person = async (who: Caller) => {
    const token = await hostToken(database, who);
    return { token, login: (await host.asUser(token).account()).login };
  };
  const asMember = await person(member);
  return {
    ...{ host, another, owner: tenant.slug, member: asMember, outsider: await person(other.member) },
    remove: async (repo) => {
      const headers = { authorization: `Bearer ${asMember.token}` };
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
}
