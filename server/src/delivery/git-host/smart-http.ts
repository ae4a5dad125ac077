import { fail } from '../../core/problem.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { findOrCreateHostUser } from './accounts-store.ts';
import { authenticateGit, type Principal } from './authenticate.ts';
import type { GitHostDeps } from './deps.ts';
import { callHttpBackend } from './http-backend.ts';
import type { SmartHttpPath } from './paths.ts';
import { notifyPushes, type RefChange } from './pushes.ts';
import { markPushStarted } from './repos-store.ts';
import { type RepositoryAccess, resolveRepository } from './repository-access.ts';
import { repositoryFolderName } from './repository-folders.ts';
import { createConcurrencyLimit } from './transfer-limits.ts';

const userLimits = { max: 8, perKeyMax: 6 };
const platformLimits = { max: 4, perKeyMax: 3 };
const platformWaitMsMax = 20_000;

export function createSmartHttp(deps: GitHostDeps) {
  const userSlots = createConcurrencyLimit(userLimits);
  const platformSlots = createConcurrencyLimit(platformLimits);

  return async (request: Request, info: RequestInfo, path: SmartHttpPath): Promise<Response> => {
    const isPush = path.service === 'git-receive-pack';
    info.setRoute(isPush ? 'git.push' : 'git.fetch');
    if (request.method !== path.method) throw fail('method_not_allowed', { headers: { allow: path.method } });
    const principal = await authenticateGit(deps, request);
    if (!principal)
      return plainText(401, 'Authentication required.', { 'www-authenticate': 'Basic realm="svc"' });
    const access = await resolveRepository(deps, principal, path);
    if (!access) return plainText(404, 'Repository not found.');
    if (isPush ? !access.canPush : !access.canFetch)
      return plainText(403, refusalText(principal, isPush ? 'push to' : 'fetch from'));
    if (path.method === 'POST') checkContentType(request, path);
    const release =
      principal.kind === 'user'
        ? userSlots.tryAcquire(access.owner.id)
        : await platformSlots.acquire(access.owner.id, platformWaitMsMax);
    if (!release) return plainText(503, 'Too many concurrent requests. Try again.', { 'retry-after': '5' });
    try {
      return await callBackend(deps, { request, info, path, principal, access, release });
    } catch (error) {
      release();
      throw error;
    }
  };
}

interface SmartHttpCall {
  request: Request;
  info: RequestInfo;
  path: SmartHttpPath;
  principal: Principal;
  access: RepositoryAccess;
  release: () => void;
}

async function callBackend(deps: GitHostDeps, call: SmartHttpCall): Promise<Response> {
  const { info, path, access } = call;
  const isChange = path.method === 'POST' && path.service === 'git-receive-pack';
  const pusher = await findPusher(deps, call.principal);
  const startedAt = deps.now();
  if (isChange) await markPushStarted(deps.db, access.repo.id, startedAt);
  return callHttpBackend(deps.git, call.request, {
    method: path.method,
    service: path.service,
    path: `/${repositoryFolderName(access.repo.folder)}/${path.file}`,
    root: deps.folders.root,
    remoteUser: pusher.login,
    canPush: access.canPush,
    extendTimeout: () => info.extendTimeout?.(),
    log: info.log,
    async onEnd() {
      call.release();
      if (!isChange) return '';
      // The push has succeeded even if this fails; the job `gitHost.tellPushes` then notifies later.
      try {
        const changes = await notifyPushes(deps, { repoId: access.repo.id, pusher, startedAt });
        return await pushMessage(deps, call, changes);
      } catch (error) {
        info.log.warn({ err: error, repo: access.repo.id }, 'push notification failed');
        return '';
      }
    },
  });
}

const branchPrefix = 'refs/heads/';

async function pushMessage(
  { db, urls, connectedApps }: GitHostDeps,
  { principal, access }: SmartHttpCall,
  changes: readonly RefChange[],
): Promise<string> {
  const branches = changes
    .filter(({ ref, after }) => ref.startsWith(branchPrefix) && after !== null)
    .map(({ ref }) => ref.slice(branchPrefix.length));
  if (principal.kind !== 'user' || branches.length === 0) return '';
  return connectedApps.describePush(db, {
    tenantId: access.owner.id,
    userId: principal.userId,
    host: urls.web,
    repoId: access.repo.id,
    branches,
  });
}

async function findPusher({ db, app }: GitHostDeps, principal: Principal) {
  const { slug } = app.current();
  if (principal.kind !== 'user') return { login: `${slug}[bot]`, email: `${slug}@localhost`, id: 0 };
  const { login, id } = await findOrCreateHostUser(db, principal);
  return { login, email: principal.email, id };
}

function refusalText(principal: Principal, what: string): string {
  const hasNoCode = principal.kind === 'user' && principal.scope && !principal.scope.actions.includes('code');
  const why = hasNoCode ? ' The token needs the action code: svc pats create --actions code.' : '';
  return `You cannot ${what} this repository.${why}`;
}

function checkContentType(request: Request, { service }: SmartHttpPath): void {
  const type = request.headers.get('content-type');
  if (type !== `application/x-${service}-request`) throw fail('unsupported_media_type');
}

function plainText(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers },
  });
}
