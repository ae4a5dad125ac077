import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onDatabase } from './app-runtime.ts';
import { Browser } from './browser.ts';
import type { Person, Tenant } from './people.ts';
import { temporaryFolder } from './server.ts';
import type { PasswordUser } from './sign-in.ts';

/** What a page needs to be served as it is: no build, no start. */
export const pageFiles = { 'index.html': '<!doctype html><title>Page</title><h1>Hello from a page</h1>' };

/** The real git as a person, who is known by their login; never asks, and knows nothing of the machine's settings. */
export async function git(
  args: string[],
  cwd: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn(['git', ...args], {
    cwd,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      PATH: process.env.PATH ?? '',
      HOME: cwd,
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_NOSYSTEM: '1',
      ...{ GIT_AUTHOR_NAME: 'Someone', GIT_AUTHOR_EMAIL: 'someone@example.test' },
      ...{ GIT_COMMITTER_NAME: 'Someone', GIT_COMMITTER_EMAIL: 'someone@example.test' },
    },
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, stdout, stderr };
}

/** Where a repository of the built-in host is cloned from and pushed to, with the person's login in it. */
export function remoteOf({ server }: Pick<Tenant, 'server'>, person: Person, repo: string): string {
  const url = new URL(`${server.baseUrl}/git/${repo}.git`);
  return Object.assign(url, { username: 'x', password: person.token }).href;
}

/** A repository of the tenant with these files on `main`, made by the person; `owner/name`. */
export async function newRepository(
  tenant: Tenant,
  person: Person,
  files: Record<string, string> = pageFiles,
): Promise<string> {
  const name = `r-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;
  const made = await person.call('POST', `/git/api/v3/orgs/${tenant.slug}/repos`, { name, private: true });
  if (made.status !== 201) throw new Error(`No repository was made: ${JSON.stringify(made.body)}`);
  const repo = `${tenant.slug}/${name}`;
  await pushFiles(remoteOf(tenant, person, repo), files);
  return repo;
}

const pages = new WeakMap<Tenant, Map<string, Promise<string>>>();

/** One of the person's for whoever only reads it: made once, as that takes several starts of git. */
export function pageRepository(tenant: Tenant, person: Person): Promise<string> {
  const known = pages.get(tenant) ?? new Map<string, Promise<string>>();
  pages.set(tenant, known);
  const repo = known.get(person.id) ?? newRepository(tenant, person);
  known.set(person.id, repo);
  return repo;
}

/** All of the files as one new commit in place of what `main` was. */
export async function pushFiles(remote: string, files: Record<string, string>): Promise<string> {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const steps = [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-q', '-m', 'Files'],
    ['push', '-q', '--force', remote, 'main'],
  ];
  for (const step of steps) {
    const { code, stderr } = await git(step, folder);
    if (code !== 0) throw new Error(`git ${step[0]} failed: ${stderr}`);
  }
  return (await git(['rev-parse', 'HEAD'], folder)).stdout.trim();
}

/** A template of the tenant's own, which is deployed without a build. */
export async function newPageTemplate(tenant: Tenant): Promise<string> {
  const repo = await pageRepository(tenant, tenant.admin);
  const { status, body } = await tenant.admin.call('POST', `${tenant.base}/templates`, {
    repo,
    name: 'A page',
  });
  if (status !== 201) throw new Error(`No template was made: ${JSON.stringify(body)}`);
  return body.id;
}

/** Opens the page of the built-in host as a person does, signs in, enters the code, and approves or denies. */
export async function approveCode(
  shown: { address: string; code: string },
  user: Pick<PasswordUser, 'email' | 'password'>,
  answer: 'Approve' | 'Deny' = 'Approve',
): Promise<void> {
  const browser = new Browser(new URL(shown.address).origin);
  let page = await browser.open(shown.address);
  page = await browser.press(page, 'Sign in', { email: user.email, password: user.password });
  page = await browser.press(page, 'Continue', { user_code: shown.code });
  page = await browser.press(page, answer);
  if (page.status !== 200) throw new Error(`${answer} ended with ${page.status}:\n${page.html}`);
}

/** Runs of the tenant are started and never worked on: what they do afterwards takes long, and is not what is looked at. */
export async function holdRuns({ id, server }: Tenant): Promise<void> {
  const name = `hold_${id.replaceAll('-', '')}`;
  await onDatabase(
    server,
    `create or replace function public.hold_run() returns trigger language plpgsql as
      $$begin new.next_try_at := now() + interval '1 day'; return new; end$$`,
    [],
  );
  await onDatabase(
    server,
    `create trigger ${name} before insert on svc.bootstrap_runs for each row
      when (new.tenant_id = '${id}') execute function public.hold_run()`,
    [],
  );
}
