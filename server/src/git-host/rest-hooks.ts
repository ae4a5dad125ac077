import { z } from 'zod';
import { seal } from '../plumbing/seal.ts';
import { hookAnswer } from './answers.ts';
import { hookSeal } from './deliver-hooks.ts';
import { forbidden, type GitHubRefusal, githubJson, notFound, unprocessable } from './github-answer.ts';
import {
  deleteHookRow,
  findHookRow,
  type HookRow,
  insertDelivery,
  insertHookRow,
  listHookRows,
  updateHookRow,
} from './hooks-store.ts';
import type { ReachedRepo } from './reach-repo.ts';
import { bodyOf, idParam, pageAsked, pageLinks, type RestCall, reachedRepo } from './rest-call.ts';

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

/**
 * Hooks are the platform's alone: whoever names an address makes this server call there, from where it stands. People are
 * told so, as GitHub tells who may not.
 */
async function hookedRepo(call: RestCall): Promise<ReachedRepo> {
  const reached = await reachedRepo(call);
  if (call.principal.kind !== 'installation' || !reached.canPush) throw forbidden();
  return reached;
}

export async function listHooks(call: RestCall): Promise<Response> {
  const reached = await hookedRepo(call);
  const hooks = await listHookRows(call.parts.db, reached.repo.id);
  const asked = pageAsked(call);
  const some = hooks.slice((asked.page - 1) * asked.perPage, asked.page * asked.perPage);
  const headers = pageLinks(call, asked, hooks.length);
  return githubJson(
    some.map((hook) => answer(call, reached, hook)),
    { headers },
  );
}

export async function createHook(call: RestCall): Promise<Response> {
  const reached = await hookedRepo(call);
  const { db, now, hookKey, wakeDeliveries } = call.parts;
  const { config, active, ...body } = await bodyOf(call, NewHook, 'Hook');
  const repoId = reached.repo.id;
  if ((await listHookRows(db, repoId)).length >= hooksMax)
    throw invalidHook(`The "push" event cannot have more than ${hooksMax} hooks`);
  const at = now();
  const hook = await insertHookRow(db, {
    repo_id: repoId,
    url: checkedUrl(config.url),
    secret_sealed: sealed(hookKey, repoId, config.secret),
    content_type: config.content_type ?? 'form',
    events: body.events ?? ['push'],
    is_active: active ?? true,
    created_at: at,
  });
  if (!hook) throw alreadyThere();
  await queuePing(call, reached, hook);
  wakeDeliveries();
  return githubJson(answer(call, reached, hook), { status: 201 });
}

export async function getHook(call: RestCall): Promise<Response> {
  const reached = await hookedRepo(call);
  const hook = await findHookRow(call.parts.db, reached.repo.id, idParam(call, 'hook'));
  if (!hook) throw notFound();
  return githubJson(answer(call, reached, hook));
}

export async function updateHook(call: RestCall): Promise<Response> {
  const reached = await hookedRepo(call);
  const { db, hookKey } = call.parts;
  const body = await bodyOf(call, HookChange, 'Hook');
  const before = await findHookRow(db, reached.repo.id, idParam(call, 'hook'));
  if (!before) throw notFound();
  const kept = new Set(body.events ?? [...before.events, ...(body.add_events ?? [])]);
  for (const event of body.remove_events ?? []) kept.delete(event);
  const { config } = body;
  const after = await updateHookRow(db, before, {
    ...(config?.url === undefined ? {} : { url: checkedUrl(config.url) }),
    ...(config?.secret === undefined
      ? {}
      : { secret_sealed: sealed(hookKey, before.repo_id, config.secret) }),
    ...(config?.content_type === undefined ? {} : { content_type: config.content_type }),
    ...(body.active === undefined ? {} : { is_active: body.active }),
    events: [...kept],
  });
  if (!after) throw notFound();
  if (after === 'taken') throw alreadyThere();
  return githubJson(answer(call, reached, after));
}

export async function deleteHook(call: RestCall): Promise<Response> {
  const reached = await hookedRepo(call);
  if (!(await deleteHookRow(call.parts.db, reached.repo.id, idParam(call, 'hook')))) throw notFound();
  return new Response(null, { status: 204 });
}

/** So that whoever asked for a hook sees at once that it arrives. */
async function queuePing(call: RestCall, reached: ReachedRepo, hook: HookRow): Promise<void> {
  const { repo, owner } = reached;
  const payload = JSON.stringify({
    zen: 'Design for failure.',
    hook_id: hook.id,
    hook: answer(call, reached, hook),
    repository: { id: repo.id, name: repo.name, full_name: `${owner.slug}/${repo.name}` },
  });
  await insertDelivery(call.parts.db, { hook_id: hook.id, event: 'ping', payload }, hook.created_at);
}

function answer(call: RestCall, { repo, owner }: ReachedRepo, hook: HookRow) {
  return hookAnswer(call.parts.urls, `${owner.slug}/${repo.name}`, hook);
}

function checkedUrl(text: string | undefined): string {
  const url = text === undefined ? null : URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw unprocessable({ resource: 'Hook', field: 'url', code: 'invalid', message: 'url must be http(s)' });
  return url.href;
}

function sealed(key: Buffer, repoId: number, secret: string | undefined): Buffer | null {
  return secret === undefined ? null : seal(key, { text: secret, boundTo: hookSeal(repoId) });
}

function alreadyThere(): GitHubRefusal {
  return invalidHook('Hook already exists on this repository');
}

function invalidHook(message: string): GitHubRefusal {
  return unprocessable({ resource: 'Hook', field: 'config', code: 'custom', message });
}
