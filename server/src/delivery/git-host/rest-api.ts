import { errorCodes } from '@svc/contract/error-codes.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { createRouter } from '../../http/router.ts';
import { authenticateApi } from './authenticate.ts';
import type { GitHostDeps } from './deps.ts';
import type { MetaJson, RateLimitJson } from './github-json.ts';
import { apiPrefix } from './paths.ts';
import {
  createInstallationToken,
  findInstallationForOwner,
  getApp,
  getAppInstallation,
  getUser,
  listUserInstallationRepos,
  listUserInstallations,
} from './rest-accounts.ts';
import { errorResponse, GitHubError, githubResponse, type RestHandler } from './rest-call.ts';
import { getBranch, getCommit, getContents, getTree } from './rest-contents.ts';
import { createHook, deleteHook, getHook, listHooks, updateHook } from './rest-hooks.ts';
import {
  createOrgRepository,
  createUserRepository,
  deleteRepository,
  getRepository,
} from './rest-repositories.ts';

const repo = '/repos/{owner}/{repo}';

const routes: readonly [method: string, path: string, handler: RestHandler][] = [
  ['GET', '/user', getUser],
  ['GET', '/user/installations', listUserInstallations],
  ['GET', '/user/installations/{installation}/repositories', listUserInstallationRepos],
  ['POST', '/user/repos', createUserRepository],
  ['GET', '/app', getApp],
  ['GET', '/app/installations/{installation}', getAppInstallation],
  ['POST', '/app/installations/{installation}/access_tokens', createInstallationToken],
  ['GET', '/orgs/{owner}/installation', findInstallationForOwner],
  ['GET', '/users/{owner}/installation', findInstallationForOwner],
  ['POST', '/orgs/{owner}/repos', createOrgRepository],
  ['GET', repo, getRepository],
  ['DELETE', repo, deleteRepository],
  ['GET', `${repo}/installation`, findInstallationForOwner],
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

/** Branch names and paths contain slashes, which clients send as they are or percent-encoded. */
const restPattern = /^(\/repos\/[^/]+\/[^/]+\/(?:contents|commits|branches|git\/trees))\/(.*)$/;

export function createRestApi(deps: GitHostDeps): RequestHandler {
  const router = createRouter(routes.map(([method, path, target]) => ({ method, path, target })));

  async function answer(...[request, url, info]: Parameters<RequestHandler>): Promise<Response> {
    const path = routePath(url);
    if (request.method === 'GET' && path === '/meta') return githubResponse(meta);
    if (request.method === 'GET' && path === '/rate_limit') return githubResponse(rateLimit(deps.now()));
    const principal = await authenticateApi(deps, request);
    if (!principal) {
      const message = request.headers.has('authorization') ? 'Bad credentials' : 'Requires authentication';
      throw new GitHubError(401, message);
    }
    const found = router.find(request.method === 'HEAD' ? 'GET' : request.method, path);
    if (found.kind !== 'found') throw new GitHubError(404, 'Not Found');
    return found.target({ deps, request, url, info, params: found.params, principal });
  }

  return async (request, url, info) => {
    info.setRoute('git.api');
    if (request.headers.has('x-api-key') && (await deps.authenticate(request))?.kind === 'pat')
      throw fail('login_required');
    try {
      return await answer(request, url, info);
    } catch (error) {
      if (error instanceof GitHubError) return errorResponse(error);
      if (error instanceof Failure) return errorResponse(toGitHubError(error));
      throw error;
    }
  };
}

function routePath(url: URL): string {
  const path = url.pathname.slice(apiPrefix.length - 1);
  const [, before, rest = ''] = restPattern.exec(path) ?? [];
  if (before === undefined) return path;
  return rest === '' ? before : `${before}/${rest.replaceAll('/', '%2F')}`;
}

function toGitHubError(failure: Failure): GitHubError {
  const { status, means } = errorCodes[failure.code];
  if (failure.code === 'malformed_json') return new GitHubError(400, 'Problems parsing JSON');
  return new GitHubError(status, failure.detail ?? means);
}

const meta: MetaJson = { verifiable_password_authentication: false };

function rateLimit(now: Date): RateLimitJson {
  const limit = { limit: 5_000, used: 0, remaining: 5_000, reset: Math.floor(now.getTime() / 1000) + 3600 };
  return { resources: { core: limit, search: limit }, rate: limit };
}
