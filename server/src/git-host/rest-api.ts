import { errorCodes } from '@svc/contract/error-codes.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { createRouter } from '../plumbing/router.ts';
import type { Handle } from '../plumbing/serve.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { GitHubRefusal, githubJson, refusalAnswer } from './github-answer.ts';
import type { MetaAnswer, RateLimitAnswer } from './github-types.ts';
import { apiPrefix } from './paths.ts';
import {
  createInstallationToken,
  findInstallationOf,
  getApp,
  getAppInstallation,
  getUser,
  listUserInstallationRepos,
  listUserInstallations,
} from './rest-accounts.ts';
import type { RestHandler } from './rest-call.ts';
import { getBranch, getCommit, getContents, getTree } from './rest-contents.ts';
import { createHook, deleteHook, getHook, listHooks, updateHook } from './rest-hooks.ts';
import {
  createOrgRepository,
  createUserRepository,
  deleteRepository,
  getRepository,
} from './rest-repositories.ts';
import { whoAsksApi } from './who-asks.ts';

const repo = '/repos/{owner}/{repo}';

/** The part of the API of GitHub that is there. */
const routes: readonly [method: string, path: string, handler: RestHandler][] = [
  ['GET', '/user', getUser],
  ['GET', '/user/installations', listUserInstallations],
  ['GET', '/user/installations/{installation}/repositories', listUserInstallationRepos],
  ['POST', '/user/repos', createUserRepository],
  ['GET', '/app', getApp],
  ['GET', '/app/installations/{installation}', getAppInstallation],
  ['POST', '/app/installations/{installation}/access_tokens', createInstallationToken],
  ['GET', '/orgs/{owner}/installation', findInstallationOf],
  ['GET', '/users/{owner}/installation', findInstallationOf],
  ['POST', '/orgs/{owner}/repos', createOrgRepository],
  ['GET', repo, getRepository],
  ['DELETE', repo, deleteRepository],
  ['GET', `${repo}/installation`, findInstallationOf],
  ['GET', `${repo}/commits/{ref}`, getCommit],
  ['GET', `${repo}/branches/{ref}`, getBranch],
  ['GET', `${repo}/git/trees/{ref}`, getTree],
  ['GET', `${repo}/contents`, getContents],
  ['GET', `${repo}/contents/{path}`, getContents],
  ['GET', `${repo}/hooks`, listHooks],
  ['POST', `${repo}/hooks`, createHook],
  ['GET', `${repo}/hooks/{hook}`, getHook],
  ['PATCH', `${repo}/hooks/{hook}`, updateHook],
  ['DELETE', `${repo}/hooks/{hook}`, deleteHook],
];

/** Names of branches and paths hold slashes, which clients send as they are or encoded. */
const restPattern = /^(\/repos\/[^/]+\/[^/]+\/(?:contents|commits|branches|git\/trees))\/(.*)$/;

export function createRestApi(parts: GitHostParts): Handle {
  const router = createRouter(routes.map(([method, path, target]) => ({ method, path, target })));

  async function answer(...[request, url, info]: Parameters<Handle>): Promise<Response> {
    const path = pathOf(url);
    if (request.method === 'GET' && path === '/meta') return githubJson(meta);
    if (request.method === 'GET' && path === '/rate_limit') return githubJson(rateLimit(parts.now()));
    const principal = await whoAsksApi(parts, request);
    if (!principal) {
      const message = request.headers.has('authorization') ? 'Bad credentials' : 'Requires authentication';
      throw new GitHubRefusal(401, message);
    }
    const found = router.find(request.method === 'HEAD' ? 'GET' : request.method, path);
    if (found.kind !== 'found') throw new GitHubRefusal(404, 'Not Found');
    return found.target({ parts, request, url, info, params: found.params, principal });
  }

  return async (request, url, info) => {
    info.setRoute('git.api');
    // Not in the words of this API: as everywhere, a token in the platform's own header is for rows.
    if (request.headers.has('x-api-key') && (await parts.authenticate(request))?.kind === 'pat')
      throw fail('login_required');
    try {
      return await answer(request, url, info);
    } catch (error) {
      if (error instanceof GitHubRefusal) return refusalAnswer(error);
      if (error instanceof Failure) return refusalAnswer(refusalOf(error));
      throw error;
    }
  };
}

function pathOf(url: URL): string {
  const path = url.pathname.slice(apiPrefix.length - 1);
  const [, before, rest = ''] = restPattern.exec(path) ?? [];
  if (before === undefined) return path;
  return rest === '' ? before : `${before}/${rest.replaceAll('/', '%2F')}`;
}

function refusalOf(failure: Failure): GitHubRefusal {
  const { status, means } = errorCodes[failure.code];
  if (failure.code === 'malformed_json') return new GitHubRefusal(400, 'Problems parsing JSON');
  return new GitHubRefusal(status, failure.detail ?? means);
}

const meta: MetaAnswer = { verifiable_password_authentication: false };

/** There is none that clients could reach by asking as they do. */
function rateLimit(now: Date): RateLimitAnswer {
  const limit = { limit: 5_000, used: 0, remaining: 5_000, reset: Math.floor(now.getTime() / 1000) + 3600 };
  return { resources: { core: limit, search: limit }, rate: limit };
}
