import { beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { svcFor } from './support/commands.ts';
import { done, newPerson } from './support/people.ts';
import { root, temporaryFolder } from './support/server.ts';
import { newRelease, newSite, type SiteGround, setVisibility } from './support/sites.ts';
import { onTerminal } from './support/terminal.ts';
import { until } from './support/until.ts';

let site: SiteGround;
let slug: string;
let address: string;
beforeAll(async () => {
  site = await newSite();
  slug = site.app.slug;
  address = `http://${site.host}:${new URL(site.server.baseUrl).port}/`;
});

const page = (path: string) => `${site.server.baseUrl}/t/${site.tenant.slug}${path}`;

/** A folder with an opener like a desktop's, which records its arguments. */
function desktop(person = site.owner, { first = ':' } = {}) {
  const folder = temporaryFolder();
  const record = join(folder, 'opened');
  const opener = join(folder, 'xdg-open');
  writeFileSync(
    opener,
    `#!/bin/sh\n${first}\nfor it in "$@"; do printf '%s\\n' "$it"; done > ${record}.new && mv ${record}.new ${record}\n`,
  );
  chmodSync(opener, 0o755);
  const env: Record<string, string | undefined> = {
    ...process.env,
    PATH: `${folder}:${process.env.PATH}`,
    DISPLAY: ':99',
    WAYLAND_DISPLAY: undefined,
    SSH_CONNECTION: undefined,
    SVC_BASE_URL: site.server.baseUrl,
    SVC_TOKEN: person.token,
    SVC_TENANT: site.tenant.slug,
    SVC_CONFIG_DIR: join(folder, 'config'),
    SVC_API_KEY: undefined,
    SVC_PROFILE: undefined,
    NO_COLOR: '1',
  };
  return {
    env,
    /** One line for each argument. */
    opened: () =>
      until('the opener was started', async () => existsSync(record) && readFileSync(record, 'utf8')),
    nothingOpened: () => !existsSync(record),
  };
}

const svc = (person = site.owner) => svcFor(site.server, { token: person.token, tenant: site.tenant.slug });

async function printed(args: string[], who = svc()): Promise<string> {
  const ran = await who(['open', ...args]);
  expect([args.join(' '), ran.code]).toEqual([args.join(' '), 0]);
  return ran.stdout;
}

/** `svc open` of a person at a terminal. */
async function atTerminal(args: string[], env: Record<string, string | undefined>): Promise<string> {
  const terminal = onTerminal([join(root, 'svc'), 'open', ...args], env);
  expect([args.join(' '), await terminal.exited]).toEqual([args.join(' '), 0]);
  return terminal.shown();
}

describe('svc open at a terminal', () => {
  test('starts the opener with the URL as its only argument, and prints it', async () => {
    const { env, opened } = desktop();
    const shown = await atTerminal(['reviews'], env);
    expect(await opened()).toBe(`${page('/reviews')}\n`);
    expect(shown).toContain(page('/reviews'));
    expect(shown).toContain('The page opens in your browser.');
  });

  test('passes shell characters encoded, as one argument', async () => {
    const { env, opened } = desktop();
    const canary = join(temporaryFolder(), 'canary');
    const name = `a; touch ${canary} & $(touch ${canary}) \`touch ${canary}\` "'|\n--version`;
    await atTerminal(['table', name, '--app', slug], env);
    expect(await opened()).toBe(`${page(`/apps/${slug}/tables/${encodeURIComponent(name)}`)}\n`);
    expect(existsSync(canary)).toBeFalse();
  });

  test('with --json reports that it opened the URL', async () => {
    const { env, opened } = desktop();
    const shown = await atTerminal(['console', '--json'], env);
    expect(JSON.parse(shown.slice(shown.indexOf('{'), shown.lastIndexOf('}') + 1))).toEqual({
      url: `${site.server.baseUrl}/`,
      opened: true,
    });
    expect(await opened()).toBe(`${site.server.baseUrl}/\n`);
  });

  test('keeps the opener running when the terminal closes', async () => {
    const closed = join(temporaryFolder(), 'closed');
    const { env, opened } = desktop(site.owner, { first: `until [ -e ${closed} ]; do sleep 0.02; done` });
    await atTerminal(['reviews'], env);
    writeFileSync(closed, '');
    expect(await opened()).toBe(`${page('/reviews')}\n`);
  });

  test.each<[string, string[], Record<string, string | undefined>]>([
    ['with --no-browser', ['--no-browser'], {}],
    ['without a display', [], { DISPLAY: undefined }],
    ['over ssh', [], { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }],
    ['without an opener', [], { PATH: '/nonexistent' }],
  ])('%s prints the address and opens nothing', async (_, flags, more) => {
    const { env, nothingOpened } = desktop();
    const shell = ['/bin/sh', join(root, 'svc'), 'open', 'reviews', ...flags];
    const terminal = onTerminal(shell, { ...env, ...more });
    expect(await terminal.exited).toBe(0);
    expect(terminal.shown().trim()).toBe(page('/reviews'));
    expect(nothingOpened()).toBeTrue();
  });
});

describe('svc open', () => {
  test('without a terminal prints the URL and opens nothing', async () => {
    const { env, nothingOpened } = desktop();
    const ran = await svc()(['open', '--app', slug, '--logs', '--json'], { env });
    expect([ran.code, ran.json()]).toEqual([0, { url: page(`/apps/${slug}/logs`), opened: false }]);
    expect((await svc()(['open', 'catalogue'], { env })).stdout).toBe(`${page('/catalogue')}\n`);
    expect(nothingOpened()).toBeTrue();
  });

  test('of an app opens its console page until it is deployed, and then its site', async () => {
    const fresh = await newSite(undefined, site.tenant);
    const console = `${page(`/apps/${fresh.app.slug}/overview`)}\n`;
    expect(await printed([fresh.app.slug])).toBe(console);
    await newRelease(fresh, { 'index.html': '<p>Hello' }, { on_finalize: 'deploy' });
    const own = `http://${fresh.host}:${new URL(site.server.baseUrl).port}/\n`;
    expect(await printed([fresh.app.slug])).toBe(own);
    expect(await printed(['app', fresh.app.id])).toBe(own);

    const folder = temporaryFolder();
    writeFileSync(join(folder, 'svc.yaml'), `name: Site\napp:\n  slug: ${fresh.app.slug}\n`);
    expect((await svc()(['open'], { cwd: folder })).stdout).toBe(own);
    expect((await svc()(['open', '--metrics'], { cwd: folder })).stdout).toBe(
      `${page(`/apps/${fresh.app.slug}/metrics`)}\n`,
    );
    // A person who can see the app and has no other relation to it.
    const visitor = await newPerson(site.server, { tenant: site.tenant.slug, role: 'tenant_member' });
    await setVisibility(fresh, 'public');
    expect(await printed([fresh.app.slug], svc(visitor))).toBe(own);
    await done(site.owner.call('POST', `${site.tenant.base}/apps/${fresh.app.id}/archive`));
    expect(await printed([fresh.app.slug])).toBe(console);
  });

  test('staging is the staging host once there is one; without one, or a repository, it exits 5', async () => {
    for (const what of ['staging', 'git']) {
      const ran = await svc()(['open', what, '--app', slug, '--json']);
      expect([what, ran.code, ran.stdout, JSON.parse(ran.stderr).code]).toEqual([
        what,
        5,
        '',
        'nothing_to_open',
      ]);
    }
    await done(site.owner.call('POST', `${site.base}/site/staging/enable`));
    expect(await printed(['staging', '--app', slug])).toBe(
      `${address.replace(site.host, site.stagingHost)}\n`,
    );
  });

  test('exits 5 for an unknown or hidden app, and suggests a name', async () => {
    for (const who of [svc(), svcFor(site.server, { token: site.tenant.outsider.token })]) {
      const tenant = ['--tenant', site.tenant.slug];
      expect((await who(['open', 'no-such-app', ...tenant])).code).toBe(5);
    }
    const near = await svc()(['open', 'deploymnts']);
    expect([near.code, near.stdout]).toEqual([5, '']);
    expect(near.stderr).toContain('Did you mean svc open deployments?');
    expect((await svcFor(site.server)(['open', 'reviews', '--tenant', site.tenant.slug])).code).toBe(3);
  });

  test('exits 2 for unknown words, and without a word and svc.yaml', async () => {
    const unknown = await svc()(['open', 'tabels', 'pets']);
    expect([unknown.code, unknown.stdout]).toEqual([2, '']);
    expect(unknown.stderr).toContain('Did you mean svc open tables?');
    expect((await svc()(['open'], { cwd: temporaryFolder() })).code).toBe(2);
  });
});
