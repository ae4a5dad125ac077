import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, openChromium, signInAt } from './chromium.ts';
import { admin, run, type Svc, svcFor } from './commands.ts';
import { git, mustGit, remoteOf } from './git.ts';
import { newPasswordUser, newTenant, type PasswordUser, type Tenant, uniqueName } from './people.ts';
import { type Files, temporaryFolder, writeFiles } from './server.ts';
import { newSemaphore } from './until.ts';

/** A project as other people start it: nothing in it is for this platform. */
export interface Project {
  name: string;
  /** Its files, or what creates them in an empty folder. */
  source: Files | ((folder: string) => Promise<unknown>);
  /** A text of the first page. */
  home: string;
  /** Opened directly: a path and a text of its page. */
  deep: readonly [path: string, text: string];
  /** Whether the first page loads scripts, styles or images from the app. */
  hasAssets?: boolean;
  by?: 'upload' | 'push';
  check?: (opened: Opened) => Promise<void>;
}

export interface Opened {
  url: string;
  page: Page;
  svc: Svc;
  app: string;
}

/** Deploys each project as a new user would, without any configuration, and opens it in a browser. */
export function corpus(title: string, projects: readonly Project[]): void {
  describe.if(hasChromium)(title, () => {
    let tenant: Tenant;
    let user: PasswordUser & { token: string };
    let svc: Svc;
    let browser: BrowserContext;
    beforeAll(async () => {
      tenant = await newTenant();
      const { server } = tenant;
      const created = await newPasswordUser(server, tenant.id);
      const { access_token: token = '' } = await admin(server, ['tokens', 'issue', '--user', created.id]);
      user = { ...created, token };
      svc = svcFor(server, { token, tenant: tenant.slug }, 'process');
      browser = await openChromium({ width: 1000, height: 800 });
      // Machines that run the tests have access to registries only; styles of other hosts would be waited for.
      await browser.route(
        ({ hostname }) => !/(^|\.)localhost$/.test(hostname),
        (route) => route.abort(),
      );
    });
    afterAll(() => browser?.close());

    // As many as a server builds at once.
    const slots = newSemaphore(2);
    const all = projects.map((project) => [project.name, project] as const);
    // Beside each other, because they wait for the registry.
    test.concurrent.each(all)('%s', async (name, project) => {
      using _ = await slots.take();
      const folder = join(temporaryFolder(), 'project');
      const creating = performance.now();
      await createSource(project, folder);
      const createdS = (performance.now() - creating) / 1000;
      const created = await svc(['apps', 'create', '--name', uniqueName('app'), '--execute', '--json']);
      const { slug, subdomain } = created.json<{ slug: string; subdomain: string }>();
      const started = performance.now();
      const remote = remoteOf(tenant, user, `${tenant.slug}/${slug}`);
      const ran = await (project.by === 'push'
        ? pushed(folder, remote)
        : svc(['deploy', '--app', slug, '--from-dir', folder, '--execute']));
      if (ran.code !== 0)
        throw new Error(`${name} is not live (exit ${ran.code}):\n${ran.stderr.slice(-6_000)}`);
      const url = `http://${subdomain}.apps.localhost:${tenant.server.port}`;
      const page = await browser.newPage();
      await expectProject(page, url, { project, user });
      const liveS = (performance.now() - started) / 1000;
      console.log(`${name}: live after ${liveS.toFixed(1)} s (its source took ${createdS.toFixed(1)} s)`);
      await project.check?.({ url, page, svc, app: slug });
      await page.close();
      rmSync(folder, { recursive: true });
    });
  });
}

async function createSource({ source }: Project, folder: string): Promise<void> {
  if (typeof source === 'function') await source(folder);
  else writeFiles(folder, source);
}

async function pushed(folder: string, remote: string) {
  await mustGit(['init', '-q', '-b', 'main'], folder);
  await mustGit(['add', '-A'], folder);
  await mustGit(['commit', '-q', '-m', 'First commit'], folder);
  return git(['push', '-o', 'wait', remote, 'HEAD'], folder);
}

/** One after the other: a sign-in page closes by itself when another page of the browser signs in meanwhile. */
const signInSlot = newSemaphore(1);

async function openApp(page: Page, url: string, user: PasswordUser): Promise<void> {
  using _ = await signInSlot.take();
  await page.goto(url);
  if (new URL(page.url()).origin === url) return;
  await signInAt(page, user);
  await page.waitForURL(`${url}/**`);
}

async function expectProject(
  page: Page,
  url: string,
  { project, user }: { project: Project; user: PasswordUser },
): Promise<void> {
  const faults: string[] = [];
  const assets: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('response', (response) => {
    const { pathname, origin } = new URL(response.url());
    const type = response.request().resourceType();
    if (origin !== url || pathname === '/favicon.ico') return;
    if (response.status() >= 400) faults.push(`${response.status()} ${pathname}`);
    if (['script', 'stylesheet', 'image', 'font'].includes(type)) assets.push(pathname);
  });
  await openApp(page, url, user);
  await waitForText(page, project.home);
  await page.waitForLoadState('load');
  expect([assets.length > 0, faults]).toEqual([project.hasAssets ?? true, []]);
  const [path, text] = project.deep;
  await page.goto(url + path);
  await waitForText(page, text);
  expect([path, faults]).toEqual([path, []]);
}

export const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

export async function waitForText(page: Page, text: string): Promise<void> {
  await page.getByText(text).first().waitFor();
}

/** Sends the form of a page, which answers with the name. */
export async function submitName(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Name').fill('Ada');
  await page.getByRole('button', { name: 'Send' }).click();
  await waitForText(page, 'Hello Ada');
}

/** Runs a tool of the npm registry that creates a project in a folder with this name: `npx --yes <before> project <after>`. */
export const scaffold =
  (before: string, after = '') =>
  (folder: string): Promise<unknown> =>
    npx(`${before} project ${after}`, join(folder, '..'));

/** A workspace with one app, by create-better-t-stack, whose templates are in its packages: those of other tools are on GitHub. */
export const betterStack = (parts: string, packages: readonly string[] = ['create-better-t-stack@3']) =>
  scaffold(
    `-p node@24 ${packages.map((name) => `-p ${name}`).join(' ')} create-better-t-stack`,
    `${parts} --database none --orm none --auth none --payments none
      --addons none --examples none --db-setup none --web-deploy none --server-deploy none
      --package-manager npm --no-git --no-install --disable-analytics`,
  );

/** Mirrors of the registry can lack packages that the newest one requires for Astro, Nuxt and Hono. */
export const earlierBetterStack = [
  'create-better-t-stack',
  '@better-t-stack/template-generator',
  '@better-t-stack/types',
].map((name) => `${name}@3.27.0`);

/** The content of a package of the npm registry that is itself a project. */
export const fromPackage =
  (name: string) =>
  async (folder: string): Promise<void> => {
    mkdirSync(folder);
    const packed = await runOrThrow(['npm', 'pack', '--silent', name], folder);
    await runOrThrow(['tar', '-xzf', packed.trim(), '--strip-components=1'], folder);
    rmSync(join(folder, packed.trim()));
  };

/** The project with a page of ours, because the original has no form. */
export const withFiles =
  (source: (folder: string) => Promise<unknown>, files: Files) =>
  async (folder: string): Promise<void> => {
    await source(folder);
    writeFiles(folder, files);
  };

/** These files, and the lock file that a package manager writes for them. */
export const withLockFile =
  (command: string, files: Files) =>
  async (folder: string): Promise<void> => {
    writeFiles(folder, files);
    await npx(command, folder);
  };

const npx = (command: string, cwd: string) =>
  runOrThrow(['npx', '--yes', ...command.split(/\s+/).filter(Boolean)], cwd);

export async function runOrThrow(command: string[], cwd: string): Promise<string> {
  const env = { CI: '1', npm_config_yes: 'true', NO_UPDATE_NOTIFIER: '1' };
  const { code, stdout, stderr } = await run(command, { cwd, env });
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return stdout;
}
