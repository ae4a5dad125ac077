import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { done, newApp, newTenant } from './support/people.ts';
import { folderOf } from './support/server.ts';
import { type Deployed, newRunningApp, tablesAfter, tablesBefore } from './support/tables-deploy.ts';

const tenant = useFixture(newTenant);

const site = 'deploy: { method: static }\nbuild: false\nstatic: { dir: . }\n';
const closedMenu =
  'tables: { menu: { columns: [dish:text], access: { read: [any], write: [role:manager] } } }\n';
const openMenu = 'tables: { menu: { columns: [dish:text, "vegan:bool:false"], access: read-write } }\n';

async function newSite() {
  const { member: owner, server } = tenant;
  const app = await newApp(tenant, { owner }, { deploy_method: 'static' });
  const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
  return {
    app,
    svc,
    deploy: async (tables: string, ...flags: string[]) => {
      const folder = folderOf({ 'index.html': '<p>', 'svc.yaml': site + tables });
      const ran = await svc([
        'deploy',
        '--app',
        app.id,
        '--from-dir',
        folder,
        '--execute',
        '--json',
        ...flags,
      ]);
      return { ...ran, json: () => ran.json<Deployed>() };
    },
    menu: async () => (await done(owner.call('GET', `${app.base}/schema`))).tables.menu,
    log: async (id: string) => (await svc(['deployments', 'logs', id, '--app', app.id])).stdout,
  };
}

describe('tables of svc.yaml', () => {
  test('are created and changed by deployments, and a rollback does not bring back rules', async () => {
    const { app, svc, deploy, menu, log } = await newSite();
    const first = await deploy(closedMenu);
    expect(first.code).toBe(0);
    expect(await menu()).toMatchObject({
      columns: ['dish:text'],
      access: { insert: ['role:manager'] },
    });
    expect(await log(first.json().id)).toContain('Tables of svc.yaml: menu created.');
    const second = await deploy(openMenu);
    expect(second.code).toBe(0);
    expect(await menu()).toEqual({ columns: ['dish:text', 'vegan:bool:false'], access: 'read-write' });
    expect(await log(second.json().id)).toContain('menu.vegan added; rules of menu set');
    const back = await svc([
      'deployments',
      'rollback',
      first.json().id,
      '--app',
      app.id,
      '--execute',
      '--json',
    ]);
    expect([back.code, back.stderr.includes('Tables of svc.yaml')]).toEqual([0, false]);
    expect(await menu()).toMatchObject({ access: 'read-write' });
  });

  test('that cannot be applied fail the deployment with the reason, and the site stays as it was', async () => {
    const { deploy, menu } = await newSite();
    await deploy(closedMenu);
    const before = await menu();
    const failed = await deploy('tables: { menu: { columns: [dish:int] }, more: { columns: [x:int] } }\n');
    expect(failed.json()).toMatchObject({ state: 'failed', failure: { code: 'release_failed' } });
    expect(failed.json().failure?.detail).toContain('change column menu.dish from text to int');
    const unreadable = await deploy('tables: { menu: { access: { write: [everybody] } } }\n');
    expect([unreadable.code, unreadable.stderr]).toEqual([7, expect.stringContaining('svc.yaml:4:37')]);
    expect(await menu()).toEqual(before);
  });

  test('are there for the release command and the running app', async () => {
    const { member: owner, server } = tenant;
    const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
    const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
    const folder = folderOf({
      'svc.yaml':
        'start: node server.js\nrelease: node release.js\ntables: { menu: { columns: [dish:text] } }\n',
      'server.js':
        "require('node:http').createServer((request, response) => response.end('lunch')).listen(process.env.PORT)",
      'release.js': `const { SVC_API_URL, SVC_TENANT, SVC_APP, SVC_APP_TOKEN } = process.env;
        fetch(SVC_API_URL + '/data/' + SVC_TENANT + '/' + SVC_APP + '/menu', {
          method: 'POST',
          headers: { authorization: 'Bearer ' + SVC_APP_TOKEN, 'content-type': 'application/json' },
          body: JSON.stringify({ dish: 'soup' }),
        }).then(({ status }) => process.exit(status === 201 ? 0 : 1));`,
    });
    const deployed = await svc(['deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json']);
    expect([deployed.code, deployed.json<Deployed>().state]).toEqual([0, 'live']);
    const rows = await done(owner.call('GET', `/data/${tenant.slug}/${app.slug}/menu`));
    expect(rows.data.map(({ dish }: { dish: string }) => dish)).toEqual(['soup']);
  });

  test('of a site that others see are applied when an admin has approved it', async () => {
    const { app, deploy, menu } = await newSite();
    await deploy(closedMenu);
    await setApp(tenant.server, app.id, { visibility: 'public' });
    const before = await menu();
    const waiting = await deploy(openMenu);
    expect([waiting.code, waiting.json().state]).toEqual([11, 'built']);
    expect(await menu()).toEqual(before);
    const approve = async (search = '') => {
      const { items } = await done(tenant.admin.call('GET', `${tenant.base}/reviews?status=pending`));
      const review = items.find((each: { app_id?: string }) => each.app_id === app.id) ?? items[0];
      return done(tenant.admin.call('POST', `${tenant.base}/reviews/${review.id}/approve${search}`, {}));
    };
    expect((await approve('?dry_run=true')).plan.irreversible).toBe(false);
    await approve();
    expect(await menu()).toMatchObject({ access: 'read-write' });
    await deploy(closedMenu, '--prune');
    const { plan } = await approve('?dry_run=true');
    expect([plan.irreversible, plan.warnings]).toEqual([true, ['Destructive: drop column menu.vegan.']]);
  });
});

test('tables of a running app go back when a later step of the deployment fails', async () => {
  const { app, owner, deploy, schema, rows, drift } = await newRunningApp(tenant);
  await deploy(tablesBefore);
  await done(owner.call('POST', `/data/${tenant.slug}/${app.slug}/menu`, { dish: 'soup', price: 4 }));
  const before = [await schema(), await rows('menu')];
  const failing = `release: node -e "process.exit(1)"\n${tablesAfter}`;
  const failed = await deploy(failing, { flags: ['--prune', '--allow-destructive'] });
  expect([failed.code, failed.json().failure?.code]).toEqual([9, 'release_failed']);
  expect([await schema(), await rows('menu')]).toEqual(before);
  expect(await drift()).toMatchObject({ declared: true, deployment: { seq: 1 }, steps: [] });
});
