import type { webhookSender } from '../support/git.ts';
import { bearer, done, type Person, type Tenant } from '../support/people.ts';
import type { Random } from '../support/random.ts';
import { sendRaw } from '../support/sockets.ts';

/** The targets of one person: an app of their own, connected to a repository of their own. */
export interface Knocker {
  person: Person;
  tenant: Tenant;
  /** `/api/v1/tenants/<id>/apps/<id>` */
  app: string;
  repo: string;
  repoId: number;
  /** A repository that every member can read, with a commit. */
  common: string;
  template: string;
  sendWebhook: Awaited<ReturnType<typeof webhookSender>>;
  random: Random;
}

export interface Knock {
  status: number;
  /** Description for the report of an unexpected answer. */
  body: unknown;
}

/** Null: the connection was closed without an answer. */
export type Way = (by: Knocker, value: string) => Promise<Knock | null>;

const inQuery = (value: string) => encodeURIComponent(value.toWellFormed());
const newSlug = () => `h-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;
const repoForms = ({ tenant, random }: Knocker, value: string) =>
  random.pick([value, `${tenant.slug}/${value}`, `${value}/site`, `${tenant.slug}/site/${value}`]);

const detect =
  (query: (by: Knocker, value: string) => string): Way =>
  (by, value) =>
    by.person.call('GET', `${by.tenant.base}/git-host/detect?${query(by, value)}`);

const git =
  (method: string, path: string, body: (by: Knocker, value: string) => object): Way =>
  (by, value) =>
    by.person.call(method, `${by.app}/git${path}`, body(by, value));

const bootstrap =
  (fields: (value: string) => object): Way =>
  ({ person, tenant, template }, value) =>
    person.call('POST', `${tenant.base}/bootstraps?dry_run=true`, {
      template,
      slug: newSlug(),
      ...fields(value),
    });

const fork =
  (fields: (value: string) => object): Way =>
  ({ person, tenant, template, app }, value) =>
    person.call('POST', `${tenant.base}/forks?dry_run=true`, {
      source: app.split('/').at(-1),
      template,
      slug: newSlug(),
      ...fields(value),
    });

/** Deletes what it creates: the limit is one hundred. */
const addTemplate =
  (fields: (by: Knocker, value: string) => object): Way =>
  async (by, value) => {
    const { admin, base } = by.tenant;
    const made = await admin.call('POST', `${base}/templates`, { name: 'x', ...fields(by, value) });
    if (made.status === 201) await done(admin.call('DELETE', `${base}/templates/${made.body.id}`));
    return made;
  };

/** Sent as raw bytes, so that no client normalizes the path; white space would end the target. */
const raw =
  (method: string, target: (by: Knocker, value: string) => string): Way =>
  async (by, value) => {
    const path = Buffer.from(
      target(by, value)
        .toWellFormed()
        .replaceAll(/[\0- \x7f]/g, (sign) => escape(sign)),
    );
    const head = [`Host: localhost:${by.tenant.server.port}`, ...authorization(by), 'Connection: close'];
    const size =
      method === 'POST' ? ['Content-Type: application/x-git-upload-pack-request', 'Content-Length: 4'] : [];
    const rest = ` HTTP/1.1\r\n${[...head, ...size].join('\r\n')}\r\n\r\n${method === 'POST' ? '0000' : ''}`;
    const bytes = Buffer.concat([Buffer.from(`${method} `), path, Buffer.from(rest)]);
    const [answer] = await sendRaw(by.tenant.server.port, [{ bytes, isHead: false }]);
    return answer ? { status: answer.status, body: answer.body.toString() } : null;
  };

const authorization = ({ person }: Knocker) => [
  `Authorization: Basic ${Buffer.from(`x:${person.token}`).toString('base64')}`,
];

const rest =
  (method: string, path: (by: Knocker, value: string) => string, body?: (value: string) => object): Way =>
  (by, value) =>
    by.person.call(method, `/git/api/v3${path(by, value)}`, body?.(value));

/** The forms of the device page and its endpoint, without a login. */
const form =
  (path: string, fields: (value: string) => Record<string, string>): Way =>
  async ({ tenant, person }, value) => {
    const answer = await fetch(`${tenant.server.baseUrl}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields(value)),
      redirect: 'manual',
      headers: bearer(person),
    });
    return { status: answer.status, body: await answer.text() };
  };

const push =
  (fields: (by: Knocker, value: string) => object): Way =>
  (by, value) => {
    const repository = { id: by.repoId, full_name: by.repo };
    const payload = { ref: 'refs/heads/main', after: 'a'.repeat(40), repository };
    return by.sendWebhook({ payload: { ...payload, ...fields(by, value) } });
  };

/** Every endpoint that takes the name of a repository, an owner, a branch, a ref or a path. */
export const doors: Readonly<Record<string, readonly Way[]>> = {
  detect: [
    detect((by, value) => `repo=${inQuery(repoForms(by, value))}`),
    detect(({ common }, value) => `repo=${common}&ref=${inQuery(value)}`),
    detect(({ common }, value) => `repo=${common}&path=${inQuery(value)}`),
  ],
  'git connect': [
    git('POST', '?dry_run=true', (by, value) => ({ repo: repoForms(by, value) })),
    git('POST', '?dry_run=true', ({ repo }, branch) => ({ repo, branch })),
    git('POST', '/begin?dry_run=true', (by, value) => ({ repo: repoForms(by, value), branch: value })),
  ],
  'git update': [git('PATCH', '', (_, branch) => ({ branch }))],
  'git-host complete': [
    (by, state) => by.person.call('POST', `${by.tenant.base}/git-host/complete`, { state }),
    (by, value) => by.person.call('POST', `${by.tenant.base}/git-host/link/poll`, { device_code: value }),
    (by, value) => by.person.call('GET', `/git-host/setup?installation_id=1&state=${inQuery(value)}`),
  ],
  'deployments create': [({ person, app }, ref) => person.call('POST', `${app}/deployments`, { ref })],
  bootstrap: [
    bootstrap((value) => ({ repo_name: value })),
    bootstrap((value) => ({ git_host_owner: value })),
    bootstrap((value) => ({ slug: value, repo_name: value })),
    bootstrap((value) => ({ subdomain: value, template: value })),
  ],
  fork: [
    fork((value) => ({ repo_name: value })),
    fork((value) => ({ git_host_owner: value })),
    fork((value) => ({ source: value })),
  ],
  'templates add': [
    addTemplate((by, value) => ({ repo: repoForms(by, value) })),
    addTemplate(({ common }, ref) => ({ repo: common, ref })),
    addTemplate(({ common }, alias) => ({ repo: common, alias })),
  ],
  'smart HTTP': [
    raw('GET', (_, value) => `/git/${value}.git/info/refs?service=git-upload-pack`),
    raw('GET', ({ tenant }, value) => `/git/${tenant.slug}/${value}.git/info/refs?service=git-receive-pack`),
    raw(
      'GET',
      ({ tenant }, value) => `/git/${tenant.slug}/${inQuery(value)}.git/info/refs?service=git-upload-pack`,
    ),
    raw('GET', ({ repo }, value) => `/git/${repo}.git/info/refs?service=${value}`),
    raw('GET', ({ repo }, value) => `/git/${repo}.git/${value}`),
    raw('POST', ({ repo }, value) => `/git/${repo}.git/git-upload-pack${value}`),
    raw('POST', ({ tenant }, value) => `/git/${tenant.slug}/${value}/git-receive-pack`),
  ],
  'API of the host': [
    rest('GET', ({ tenant }, value) => `/repos/${tenant.slug}/${inQuery(value)}`),
    rest('GET', (_, value) => `/repos/${inQuery(value)}/x/installation`),
    rest('GET', (_, value) => `/orgs/${inQuery(value)}/installation`),
    rest('DELETE', ({ tenant }, value) => `/repos/${tenant.slug}/${inQuery(value)}`),
    rest(
      'POST',
      ({ tenant }) => `/orgs/${tenant.slug}/repos`,
      (name) => ({ name, private: false }),
    ),
    rest(
      'POST',
      ({ repo }) => `/repos/${repo}/hooks`,
      (url) => ({ config: { url } }),
    ),
    rest('GET', ({ repo }, value) => `/repos/${repo}/hooks/${inQuery(value)}`),
    raw('GET', ({ tenant }, value) => `/git/api/v3/repos/${tenant.slug}/${value}`),
    form('/git/login/device/code', (value) => ({ client_id: value, scope: value })),
    form('/git/login/oauth/access_token', (value) => ({
      client_id: value,
      device_code: value,
      grant_type: value,
    })),
  ],
  'refs at the host': [
    rest('GET', ({ common }, value) => `/repos/${common}/commits/${inQuery(value)}`),
    rest('GET', ({ common }, value) => `/repos/${common}/branches/${inQuery(value)}`),
    rest('GET', ({ common }, value) => `/repos/${common}/git/trees/${inQuery(value)}?recursive=1`),
    rest('GET', ({ common }, value) => `/repos/${common}/contents/README.md?ref=${inQuery(value)}`),
    raw('GET', ({ common }, value) => `/git/api/v3/repos/${common}/commits/${value}`),
  ],
  'paths at the host': [
    rest('GET', ({ common }, value) => `/repos/${common}/contents/${inQuery(value)}`),
    raw('GET', ({ common }, value) => `/git/api/v3/repos/${common}/contents/${value}`),
  ],
  webhook: [
    push((_, value) => ({ ref: `refs/heads/${value}` })),
    push((_, value) => ({ ref: value })),
    push((by, value) => ({ repository: { id: by.repoId, full_name: `${by.tenant.slug}/${value}` } })),
    push((_, value) => ({ after: value })),
  ],
};
