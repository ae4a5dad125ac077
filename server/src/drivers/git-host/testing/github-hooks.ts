import { createHmac } from 'node:crypto';
import * as answers from './github-answers.ts';
import {
  type Call,
  type Handlers,
  json,
  newId,
  notFound,
  paged,
  reach,
  repoPath,
  type StoredRepo,
} from './github-state.ts';

export const hookHandlers: Handlers = [
  [
    new RegExp(`^GET ${repoPath}/hooks$`),
    (call, names) =>
      withHooks(call, names, ({ state, url }, repo) => {
        const { items, headers } = paged(state, url, repo.hooks);
        return json(
          items.map((it) => answers.hook(state.place, repo, it)),
          200,
          headers,
        );
      }),
  ],
  [
    new RegExp(`^DELETE ${repoPath}/hooks/(\\d+)$`),
    (call, names) =>
      withHooks(call, names, (_call, repo) => {
        const before = repo.hooks.length;
        repo.hooks = repo.hooks.filter(({ id }) => id !== Number(names[2]));
        return repo.hooks.length < before ? new Response(null, { status: 204 }) : notFound();
      }),
  ],
  [new RegExp(`^POST ${repoPath}/hooks$`), (call, names) => withHooks(call, names, createHook)],
];

async function withHooks(
  call: Call,
  [owner, name]: string[],
  handle: (call: Call, repo: StoredRepo) => Response | Promise<Response>,
): Promise<Response> {
  const found = reach(call.state, call.credential, `${owner}/${name}`);
  return found?.canPush ? handle(call, found.repo) : notFound();
}

async function createHook({ state, request }: Call, repo: StoredRepo): Promise<Response> {
  const asked = (await request.json()) as {
    events?: string[];
    config: { url: string; secret?: string };
  };
  if (repo.hooks.some(({ url }) => url === asked.config.url)) {
    const message = 'Hook already exists on this repository';
    return json(
      answers.validationError('Validation Failed', { resource: 'Hook', code: 'custom', message }),
      422,
    );
  }
  const made = {
    ...{ id: newId(), url: asked.config.url, events: asked.events ?? ['push'] },
    secret: asked.config.secret ?? '',
  };
  repo.hooks.push(made);
  return json(answers.hook(state.place, repo, made), 201);
}

/** Tells hooks of a push, once. */
export async function tellOfPush(
  state: Pick<StoredRepo, 'hooks' | 'id' | 'name' | 'owner'>,
  push: { ref: string; before: string; after: string },
): Promise<void> {
  const zero = '0'.repeat(40);
  const body = JSON.stringify({
    ...push,
    created: push.before === zero,
    deleted: push.after === zero,
    forced: false,
    base_ref: null,
    repository: { id: state.id, name: state.name, full_name: `${state.owner.login}/${state.name}` },
    pusher: { name: 'octocat', email: 'octocat@github.com' },
    sender: { login: 'octocat', id: 1, type: 'User', site_admin: false },
    installation: { id: 1, node_id: 'MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMQ==' },
    commits: [],
    head_commit: null,
  });
  for (const { url, secret, id } of state.hooks) {
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'GitHub-Hookshot/044aadd',
        'x-github-delivery': crypto.randomUUID(),
        'x-github-event': 'push',
        'x-github-hook-id': String(id),
        'x-hub-signature-256': `sha256=${signature}`,
      },
    }).catch(() => {});
  }
}
