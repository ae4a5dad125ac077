import { fail } from '../../core/problem.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { authenticateGit, type Principal } from './authenticate.ts';
import type { GitHostDeps, PushMessage, PushReport } from './deps.ts';
import { createFirstRepository, firstPushRefusal, type PushTarget, resolveFirstPush } from './first-push.ts';
import { findOrCreateHostUser, markPushFinished, markPushStarted, type RepoRow } from './host-store.ts';
import { callHttpBackend, isCompressed, prepend, requestBody } from './http-backend.ts';
import type { SmartHttpPath } from './paths.ts';
import { noCommit, notifyPushes, type PushHead, type RefChange, readPushHead } from './pushes.ts';
import { repositoryFolderName, resolveRepository } from './repositories.ts';

const userLimits = { max: 8, perKeyMax: 6 };
const platformLimits = { max: 4, perKeyMax: 3 };
const platformWaitMsMax = 20_000;
/** Limits pushes that wait for their deployment; further pushes are accepted but do not wait. */
const waitLimits = { max: 200, perKeyMax: 20 };
const keepOpenMs = 5_000;
type Waits = ReturnType<typeof createConcurrencyLimit>;

export function createSmartHttp(deps: GitHostDeps) {
  const userSlots = createConcurrencyLimit(userLimits);
  const platformSlots = createConcurrencyLimit(platformLimits);
  const waits = createConcurrencyLimit(waitLimits);

  return async (request: Request, info: RequestInfo, path: SmartHttpPath): Promise<Response> => {
    const isPush = path.service === 'git-receive-pack';
    info.setRoute(isPush ? 'git.push' : 'git.fetch');
    if (request.method !== path.method) throw fail('method_not_allowed', { headers: { allow: path.method } });
    const principal = await authenticateGit(deps, request);
    if (!principal)
      return plainText(401, 'Authentication required.', { 'www-authenticate': 'Basic realm="svc"' });
    const access =
      (await resolveRepository(deps, principal, path)) ??
      (isPush ? await resolveFirstPush(deps, principal, path) : null);
    if (!access) return plainText(404, 'Repository not found.');
    const refusal = access.repo === null ? firstPushRefusal(access) : null;
    if (refusal) return plainText(refusal.status, refusal.text);
    if (isPush ? !access.canPush : !access.canFetch)
      return plainText(403, refusalText(principal, isPush ? 'push to' : 'fetch from'));
    if (path.method === 'POST') checkContentType(request, path);
    const release =
      principal.kind === 'user'
        ? userSlots.tryAcquire(access.owner.id)
        : await platformSlots.acquire(access.owner.id, platformWaitMsMax);
    if (!release) return plainText(503, 'Too many concurrent requests. Try again.', { 'retry-after': '5' });
    try {
      return await callBackend(deps, { request, info, path, principal, access, release }, waits);
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
  access: PushTarget;
  release: () => void;
}

async function callBackend(deps: GitHostDeps, call: SmartHttpCall, waits: Waits): Promise<Response> {
  const { request, info, path, access } = call;
  const isChange = path.method === 'POST' && path.service === 'git-receive-pack';
  const pusher = await findPusher(deps, call.principal);
  const startedAt = deps.now();
  const extendTimeout = () => info.extendTimeout?.();
  const body = requestBody(request, extendTimeout);
  const head = isChange ? await readPushHead(body, { isCompressed: isCompressed(request) }) : null;
  const opened = await openRepository(deps, call, head);
  const { repo } = opened;
  if (isChange && repo) {
    await markPushStarted(deps.db, repo.id, startedAt);
    await deps.folders.removeOldLocks(repo.folder);
  }
  const release = async () => {
    call.release();
    if (!repo) await deps.folders.remove(opened.folder);
  };
  return callHttpBackend(deps.git, request, {
    method: path.method,
    service: path.service,
    path: `/${repositoryFolderName(opened.folder)}/${path.file}`,
    root: deps.folders.root,
    remoteUser: pusher.login,
    canPush: access.canPush,
    body: prepend(head?.bytes ?? new Uint8Array(), body),
    extendTimeout,
    log: info.log,
    onFail: release,
    async onEnd(signal) {
      await release();
      if (!isChange || !repo) return noMessages();
      // A push of many branches takes long to record, and sends nothing meanwhile.
      const keepOpen = setInterval(extendTimeout, keepOpenMs);
      // The push has succeeded even if this fails; the job `gitHost.tellPushes` then notifies later.
      try {
        const changes = await notifyPushes(deps, { repoId: repo.id, pusher });
        const report = await receivePush(deps, call, { repo, changes, accountId: pusher.id });
        await markPushFinished(deps.db, repo.id, startedAt);
        const options = head?.options ?? [];
        return pushMessages(call, { report, options, created: opened.created, waits, signal });
      } catch (error) {
        info.log.warn({ err: error, repo: repo.id }, 'push notification failed');
        return noMessages();
      } finally {
        clearInterval(keepOpen);
      }
    },
  });
}

/** Only a push with commands creates a repository, not the requests of `git push --dry-run`. */
async function openRepository(
  deps: GitHostDeps,
  { access, info }: SmartHttpCall,
  head: PushHead | null,
): Promise<{ repo: RepoRow | null; folder: string; created: string }> {
  if (access.repo) return { repo: access.repo, folder: access.repo.folder, created: '' };
  if (head && !head.isEmpty) {
    const { repo, created } = await createFirstRepository({ deps, info }, access, head.branches);
    return { repo, folder: repo.folder, created };
  }
  const folder = Bun.randomUUIDv7();
  await deps.folders.create(folder);
  return { repo: null, folder, created: '' };
}

const branchPrefix = 'refs/heads/';

async function receivePush(
  { connectedApps }: GitHostDeps,
  { principal, access, info }: SmartHttpCall,
  { repo, changes, accountId }: { repo: RepoRow; changes: readonly RefChange[]; accountId: number },
): Promise<PushReport | null> {
  const branches = changes.flatMap(({ ref, after, deliveryId }) => {
    if (!ref.startsWith(branchPrefix)) return [];
    const name = ref.slice(branchPrefix.length);
    return [
      {
        name,
        commit: after ?? noCommit,
        isDeleted: after === null,
        deliveryId: deliveryId ?? Bun.randomUUIDv7(),
        isDelivered: deliveryId !== undefined,
      },
    ];
  });
  if (principal.kind !== 'user' || branches.length === 0) return null;
  const { userId } = principal;
  const { requestId } = info;
  return connectedApps.receivePush({ owner: access.owner, repo, userId, accountId, branches, requestId });
}

interface PushMessages {
  report: PushReport | null;
  options: readonly string[];
  created: string;
  waits: Waits;
  signal: AbortSignal;
}

async function* pushMessages(
  { access, info }: SmartHttpCall,
  { report, options, created, waits, signal }: PushMessages,
): AsyncGenerator<PushMessage> {
  const unknown = options.filter((option) => option !== waitOption).map(unknownOptionText);
  const text = [created, ...unknown, report?.text ?? ''].join('');
  if (text !== '') yield text;
  if (!report || report.follow === '') return;
  const release = options.includes(waitOption) ? waits.tryAcquire(access.owner.id) : null;
  if (!release) return yield report.follow;
  try {
    yield* report.waitForEnd(signal);
  } catch (error) {
    info.log.warn({ err: error }, 'waiting for a pushed deployment failed');
    yield report.follow;
  } finally {
    release();
  }
}

const waitOption = 'wait';

function unknownOptionText(option: string): string {
  const name = /^[\w=.:/-]{1,50}$/.test(option) ? ` ${option}` : '';
  return `The push option${name} is unknown and was ignored. Known: ${waitOption}.\n`;
}

async function* noMessages(): AsyncGenerator<string> {}

async function findPusher({ db, app }: GitHostDeps, principal: Principal) {
  const { slug } = app.current();
  if (principal.kind !== 'user') return { login: `${slug}[bot]`, email: `${slug}@localhost`, id: 0 };
  const { login, id } = await findOrCreateHostUser(db, principal);
  return { login, email: principal.email, id };
}

function refusalText(principal: Principal, what: string): string {
  const hasNoCode = principal.kind === 'user' && principal.scope && !principal.scope.actions.includes('code');
  const why = hasNoCode
    ? ' The token needs the action code: svc pats create --name git --actions code --execute.'
    : '';
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

export function createConcurrencyLimit({ max, perKeyMax }: { max: number; perKeyMax: number }) {
  const inUse = new Map<string, number>();
  const waiting = new Set<() => void>();
  let total = 0;

  function tryAcquire(key: string): (() => void) | null {
    const own = inUse.get(key) ?? 0;
    if (total >= max || own >= perKeyMax) return null;
    total++;
    inUse.set(key, own + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      total--;
      const left = (inUse.get(key) ?? 1) - 1;
      if (left > 0) inUse.set(key, left);
      else inUse.delete(key);
      for (const retry of [...waiting]) retry();
    };
  }

  return {
    tryAcquire,
    async acquire(key: string, msMax: number) {
      const slot = tryAcquire(key);
      if (slot) return slot;
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>();
      const finish = (release: (() => void) | null) => {
        clearTimeout(timer);
        waiting.delete(retry);
        resolve(release);
      };
      const retry = () => {
        const release = tryAcquire(key);
        if (release) finish(release);
      };
      const timer = setTimeout(() => finish(null), msMax);
      waiting.add(retry);
      return promise;
    },
  };
}
