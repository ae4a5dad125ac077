import { createHmac } from 'node:crypto';
import { type Ran, run } from './commands.ts';
import { queryDatabase } from './database.ts';
import { type Answered, caller, done, type Person, type Tenant, uniqueName } from './people.ts';
import { type Files, folderOf, type RunningServer } from './server.ts';

/** A static page: no build, no start command. */
export const pageFiles = { 'index.html': '<!doctype html><title>Page</title><h1>Hello from a page</h1>' };

/** The installed git without the machine's settings; it never prompts. */
export function git(args: string[], cwd: string): Promise<Ran> {
  const env = {
    HOME: cwd,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Someone',
    GIT_AUTHOR_EMAIL: 'someone@example.test',
    GIT_COMMITTER_NAME: 'Someone',
    GIT_COMMITTER_EMAIL: 'someone@example.test',
  };
  return run(['git', ...args], { cwd, env });
}

export async function mustGit(args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await git(args, cwd);
  if (code !== 0) throw new Error(`git ${args[0]} ended with ${code}: ${stderr}`);
  return stdout.trim();
}

/** The remote URL of a repository of the built-in host, with the person's credentials. */
export function remoteOf(
  { server }: Pick<Tenant, 'server'>,
  person: Pick<Person, 'token'>,
  repo: string,
): string {
  const url = new URL(`${server.baseUrl}/git/${repo}.git`);
  return Object.assign(url, { username: 'x', password: person.token }).href;
}

/** A repository of the tenant's, created by the person; `owner/name`. */
export async function newEmptyRepository({ slug }: Tenant, person: Person): Promise<string> {
  const name = uniqueName('r');
  await done(person.call('POST', `/git/api/v3/orgs/${slug}/repos`, { name, private: true }));
  return `${slug}/${name}`;
}

/** A repository with these files on `main`; `owner/name`. */
export async function newRepository(
  tenant: Tenant,
  person: Person,
  files: Files = pageFiles,
): Promise<string> {
  const repo = await newEmptyRepository(tenant, person);
  await pushFiles(remoteOf(tenant, person, repo), files);
  return repo;
}

const pages = new WeakMap<Tenant, Map<string, Promise<string>>>();

/** A read-only repository per person: creating one starts git several times. */
export function pageRepository(tenant: Tenant, person: Person): Promise<string> {
  const known = pages.get(tenant) ?? new Map<string, Promise<string>>();
  pages.set(tenant, known);
  const repo = known.get(person.id) ?? newRepository(tenant, person);
  known.set(person.id, repo);
  return repo;
}

/** Replaces `main` with one new commit of these files. */
export async function pushFiles(remote: string, files: Files): Promise<string> {
  const folder = folderOf(files);
  await mustGit(['init', '-q', '-b', 'main'], folder);
  await mustGit(['add', '-A'], folder);
  await mustGit(['commit', '-q', '-m', 'Files'], folder);
  await mustGit(['push', '-q', '--force', remote, 'main'], folder);
  return mustGit(['rev-parse', 'HEAD'], folder);
}

/** A template of the tenant's own, which is deployed without a build. */
export async function newPageTemplate(tenant: Tenant): Promise<string> {
  const { admin, base } = tenant;
  const repo = await pageRepository(tenant, admin);
  return (await done(admin.call('POST', `${base}/templates`, { repo, name: 'A page' }))).id;
}

/** Bootstrap runs of the tenant stay in their first state: their work takes long, and no test of a world needs it. */
export async function holdRuns({ id, server }: Tenant): Promise<void> {
  const name = `hold_${id.replaceAll('-', '')}`;
  await queryDatabase(
    server,
    `create or replace function public.hold_run() returns trigger language plpgsql as
      $$begin new.next_try_at := now() + interval '1 day'; return new; end$$`,
  );
  await queryDatabase(
    server,
    `create trigger ${name} before insert on svc.bootstrap_runs for each row
      when (new.tenant_id = '${id}') execute function public.hold_run()`,
  );
}

interface Delivery {
  payload: Record<string, unknown>;
  id?: string;
  /** Instead of the right one. */
  signature?: string;
}

/** Sends webhooks as the built-in git host does, with its secret. */
export async function webhookSender(
  server: RunningServer,
): Promise<(delivery: Delivery) => Promise<Answered>> {
  const [row] = await queryDatabase(
    server,
    "select value from svc.key_generations where name = 'git_host.app'",
  );
  const { webhookSecret } = JSON.parse(String(row?.value));
  const call = caller(server, {});
  return async ({ payload, id = Bun.randomUUIDv7(), signature }) => {
    const body = JSON.stringify(payload);
    const signed = `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`;
    return call('POST', '/webhooks/git-host', body, {
      'x-github-event': 'push',
      'x-github-delivery': id,
      'x-hub-signature-256': signature ?? signed,
    });
  };
}
