import type { RequestInfo } from '../plumbing/api.ts';
import { fail } from '../plumbing/problem.ts';
import { hostUserOf } from './accounts-store.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { callHttpBackend } from './http-backend.ts';
import { pushWords } from './push-words.ts';
import { type ReachedRepo, reachRepo } from './reach-repo.ts';
import { notePushBegun } from './repos-store.ts';
import { nameOf } from './repository-folders.ts';
import { createSlots } from './slots.ts';
import type { SmartHttpPath } from './smart-http-path.ts';
import { tellPushes } from './tell-pushes.ts';
import { type Principal, whoAsksGit } from './who-asks.ts';

/** One tenant does not take the others' turns. */
const forPeople = { atOnceMax: 8, perHolderMax: 6 };
/** What the platform fetches for its deployments does not stand in one line with people, and may wait a little. */
const forPlatform = { atOnceMax: 4, perHolderMax: 3 };
const platformWaitsMs = 20_000;

/** `git clone`, `git fetch` and `git push`, over HTTP. */
export function createSmartHttp(parts: GitHostParts) {
  const [ofPeople, ofPlatform] = [createSlots(forPeople), createSlots(forPlatform)];

  return async (request: Request, info: RequestInfo, path: SmartHttpPath): Promise<Response> => {
    const isPush = path.service === 'git-receive-pack';
    info.setRoute(isPush ? 'git.push' : 'git.fetch');
    if (request.method !== path.method) throw fail('method_not_allowed', { headers: { allow: path.method } });
    const principal = await whoAsksGit(parts, request);
    if (!principal)
      return plain(401, 'Authentication is needed.', { 'www-authenticate': 'Basic realm="svc"' });
    const reached = await reachRepo(parts, principal, path);
    if (!reached) return plain(404, 'Repository not found.');
    if (isPush ? !reached.canPush : !reached.canFetch)
      return plain(403, `You may not ${isPush ? 'push to' : 'fetch from'} this repository.`);
    if (path.method === 'POST') refuseOtherBodies(request, path);
    const giveBack =
      principal.kind === 'user'
        ? ofPeople.take(reached.owner.id)
        : await ofPlatform.wait(reached.owner.id, platformWaitsMs);
    if (!giveBack) return plain(503, 'Too many at once; try again.', { 'retry-after': '5' });
    try {
      return await callBackend(parts, { request, info, path, principal, reached, giveBack });
    } catch (error) {
      giveBack();
      throw error;
    }
  };
}

interface Call {
  request: Request;
  info: RequestInfo;
  path: SmartHttpPath;
  principal: Principal;
  reached: ReachedRepo;
  giveBack: () => void;
}

async function callBackend(parts: GitHostParts, call: Call): Promise<Response> {
  const { info, path, reached } = call;
  const isChange = path.method === 'POST' && path.service === 'git-receive-pack';
  const pusher = await pusherOf(parts, call.principal);
  const begunAt = parts.now();
  if (isChange) await notePushBegun(parts.db, reached.repo.id, begunAt);
  return callHttpBackend(parts.git, call.request, {
    method: path.method,
    service: path.service,
    path: `/${nameOf(reached.repo.folder)}/${path.file}`,
    root: parts.folders.root,
    remoteUser: pusher.login,
    mayPush: reached.canPush ? 'yes' : 'no',
    patient: () => info.patient?.(),
    log: info.log,
    async onEnd() {
      call.giveBack();
      if (!isChange) return '';
      // What was pushed is in the repository, whether or not it can be told of now: then a sweep does.
      const warn = (error: unknown, what: string) =>
        info.log.warn({ err: error, repo: reached.repo.id }, what);
      const changes = await tellPushes(parts, { repoId: reached.repo.id, pusher, begunAt }).catch(
        (error: unknown) => {
          warn(error, 'a push is not told of yet');
          return [];
        },
      );
      return pushWords(parts, { principal: call.principal, reached, changes }).catch((error: unknown) => {
        warn(error, 'who pushed is not told what comes of it');
        return '';
      });
    },
  });
}

async function pusherOf({ db, app }: GitHostParts, principal: Principal) {
  if (principal.kind !== 'user') return { login: `${app.slug}[bot]`, email: `${app.slug}@localhost`, id: 0 };
  const { login, id } = await hostUserOf(db, principal);
  return { login, email: principal.email, id };
}

function refuseOtherBodies(request: Request, { service }: SmartHttpPath): void {
  const type = request.headers.get('content-type');
  if (type !== `application/x-${service}-request`) throw fail('unsupported_media_type');
}

/** git shows people what a plain text says. */
function plain(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers },
  });
}
