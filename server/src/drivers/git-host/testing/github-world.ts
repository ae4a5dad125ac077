import type { GitHostWorld } from '../conformance.ts';
import { createOctokitGitHost } from '../octokit-git-host.ts';
import { type GitHubServer, installFor, startGitHub } from './github-server.ts';

/** A client of it, configured as an operator would. */
export function hostAt(server: GitHubServer) {
  return createOctokitGitHost({
    ...{ webUrl: server.web, loginUrl: server.web, apiUrl: server.api, isBuiltIn: false },
    ...{ clientId: server.clientId, appId: String(server.appId), privateKey: server.privateKey },
    webhookSecret: server.webhookSecret,
    installUrl: (state) => `${server.web}/github-apps/svc-test/installations/new?state=${state}`,
  });
}

export async function githubWorld(): Promise<GitHostWorld & { server: GitHubServer }> {
  const server = await startGitHub();
  const [member, outsider] = [server.newUser('octocat'), server.newUser('hubot')];
  installFor(server, { login: 'octo-org', type: 'Organization', members: ['octocat'] });
  const { codes } = server;
  return {
    ...{ server, host: hostAt(server), owner: 'octo-org' },
    member: { login: 'octocat', token: member.token },
    outsider: { login: 'hubot', token: outsider.token },
    approve: async (userCode) => codes.approve(userCode, 'octocat'),
    deny: async (userCode) => codes.deny(userCode),
    expire: async (userCode) => codes.expire(userCode),
    wait: async (userCode) => {
      for (const code of codes.byCode.values()) if (code.userCode === userCode) code.askedAt = null;
    },
    remove: async ({ owner, name }) => {
      const headers = { authorization: `Bearer ${member.token}` };
      await fetch(`${server.api}/repos/${owner}/${name}`, { method: 'DELETE', headers });
    },
    another: async () => hostAt(server),
    stop: () => server.stop(),
  };
}
