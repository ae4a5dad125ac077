import { z } from 'zod';
import type { Db } from '../../core/db.ts';
import { seal, sealingKey } from '../../core/seal.ts';
import { hookJson } from './github-json.ts';
import { hookKey, hookSecretContext } from './hooks.ts';
import {
  deleteHookRow,
  findHookRow,
  type HookRow,
  insertDelivery,
  insertHookRow,
  listHookRows,
  updateHookRow,
} from './host-store.ts';
import type { RepositoryAccess } from './repositories.ts';
import {
  forbiddenError,
  type GitHubError,
  githubResponse,
  idParam,
  notFoundError,
  pageLinks,
  pageParams,
  parseBody,
  type RestCall,
  requireRepository,
  validationError,
} from './rest-call.ts';

const hooksMax = 20;

const Config = z.object({
  url: z.string().max(2_000).optional(),
  content_type: z.enum(['json', 'form']).optional(),
  secret: z.string().min(1).max(1_000).optional(),
  insecure_ssl: z.union([z.literal('0'), z.literal(0)]).optional(),
});
const events = z.array(z.enum(['push', 'ping', '*'])).min(1);
const NewHook = z.object({
  name: z.literal('web').optional(),
  config: Config,
  events: events.optional(),
  active: z.boolean().optional(),
});
const HookChange = z.object({
  config: Config.optional(),
  events: events.optional(),
  add_events: events.optional(),
  remove_events: events.optional(),
  active: z.boolean().optional(),
});

/** Only the platform's app: a hook makes this server send requests to any URL, internal ones included. */
async function requireHookAccess(call: RestCall): Promise<RepositoryAccess> {
  const access = await requireRepository(call);
  if (call.principal.kind !== 'installation' || !access.canPush) throw forbiddenError();
  return access;
}

export async function listHooks(call: RestCall): Promise<Response> {
  const access = await requireHookAccess(call);
  const hooks = await listHookRows(call.deps.db, access.repo.id);
  const page = pageParams(call);
  const rows = hooks.slice((page.page - 1) * page.perPage, page.page * page.perPage);
  const headers = pageLinks(call, page, hooks.length);
  return githubResponse(
    rows.map((hook) => hookView(call, access, hook)),
    { headers },
  );
}

export async function createHook(call: RestCall): Promise<Response> {
  const access = await requireHookAccess(call);
  const { db, now, wakeDeliveries } = call.deps;
  const { config, active, ...body } = await parseBody(call, NewHook, 'Hook');
  const repoId = access.repo.id;
  if ((await listHookRows(db, repoId)).length >= hooksMax)
    throw invalidHookError(`The "push" event cannot have more than ${hooksMax} hooks`);
  const at = now();
  const hook = await insertHookRow(db, {
    repo_id: repoId,
    url: parseHookUrl(config.url),
    secret_sealed: await sealSecret(db, repoId, config.secret),
    content_type: config.content_type ?? 'form',
    events: body.events ?? ['push'],
    is_active: active ?? true,
    created_at: at,
  });
  if (!hook) throw hookExistsError();
  await queuePing(call, access, hook);
  wakeDeliveries();
  return githubResponse(hookView(call, access, hook), { status: 201 });
}

export async function getHook(call: RestCall): Promise<Response> {
  const access = await requireHookAccess(call);
  const hook = await findHookRow(call.deps.db, access.repo.id, idParam(call, 'hook'));
  if (!hook) throw notFoundError();
  return githubResponse(hookView(call, access, hook));
}

export async function updateHook(call: RestCall): Promise<Response> {
  const access = await requireHookAccess(call);
  const { db } = call.deps;
  const body = await parseBody(call, HookChange, 'Hook');
  const before = await findHookRow(db, access.repo.id, idParam(call, 'hook'));
  if (!before) throw notFoundError();
  const events = new Set(body.events ?? [...before.events, ...(body.add_events ?? [])]);
  for (const event of body.remove_events ?? []) events.delete(event);
  const { config } = body;
  const after = await updateHookRow(db, before, {
    url: config?.url === undefined ? undefined : parseHookUrl(config.url),
    secret_sealed:
      config?.secret === undefined ? undefined : await sealSecret(db, before.repo_id, config.secret),
    content_type: config?.content_type,
    is_active: body.active,
    events: [...events],
  });
  if (!after) throw notFoundError();
  if (after === 'taken') throw hookExistsError();
  return githubResponse(hookView(call, access, after));
}

export async function deleteHook(call: RestCall): Promise<Response> {
  const access = await requireHookAccess(call);
  if (!(await deleteHookRow(call.deps.db, access.repo.id, idParam(call, 'hook')))) throw notFoundError();
  return new Response(null, { status: 204 });
}

async function queuePing(call: RestCall, access: RepositoryAccess, hook: HookRow): Promise<void> {
  const { repo, owner } = access;
  const payload = JSON.stringify({
    zen: 'Design for failure.',
    hook_id: hook.id,
    hook: hookView(call, access, hook),
    repository: { id: repo.id, name: repo.name, full_name: `${owner.slug}/${repo.name}` },
  });
  await insertDelivery(call.deps.db, { hook_id: hook.id, event: 'ping', payload }, hook.created_at);
}

function hookView(call: RestCall, { repo, owner }: RepositoryAccess, hook: HookRow) {
  return hookJson(call.deps.urls, `${owner.slug}/${repo.name}`, hook);
}

function parseHookUrl(text: string | undefined): string {
  const url = text === undefined ? null : URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw validationError({
      resource: 'Hook',
      field: 'url',
      code: 'invalid',
      message: 'url must be http(s)',
    });
  return url.href;
}

async function sealSecret(db: Db, repoId: number, secret: string | undefined): Promise<Buffer | null> {
  if (secret === undefined) return null;
  return seal(await sealingKey(db, hookKey), { text: secret, boundTo: hookSecretContext(repoId) });
}

function hookExistsError(): GitHubError {
  return invalidHookError('Hook already exists on this repository');
}

function invalidHookError(message: string): GitHubError {
  return validationError({ resource: 'Hook', field: 'config', code: 'custom', message });
}
