import { beforeAll, describe, expect, test } from 'bun:test';
import { svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { done, newApp, newTenant, type Tenant } from './support/people.ts';
import { folderOf } from './support/server.ts';
import { until } from './support/until.ts';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const site = 'deploy: { method: static }\nbuild: false\nstatic: { dir: . }\n';
const closedMenu =
  'tables: { menu: { columns: [dish:text], access: { read: [any], write: [role:manager] } } }\n';
const openMenu = 'tables: { menu: { columns: [dish:text, "vegan:bool:false"], access: read-write } }\n';

interface Deployed {
  id: string;
  state: string;
  failure: { code: string; step: string; detail: string } | null;
}

async function newSite() {
  const { member: owner, server } = tenant;
  const app = await newApp(tenant, { owner }, { deploy_method: 'static' });
  const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
  return {
    app,
    svc,
    deploy: async (tables: string, ...flags: string[]) => {
      const folder = folderOf({ 'index.html': '<p>', 'svc.yaml': site + tables });
      const ran = await svc(['deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json', ...flags]);
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
      ...['deployments', 'rollback', first.json().id, '--app', app.id],
      ...['--execute', '--json'],
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
    expect(failed.json().failure?.detail).toContain(
      'change column menu.dish from text to int',
    );
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
    const { items } = await done(tenant.admin.call('GET', `${tenant.base}/reviews?status=pending`));
    const review = items.find((each: { app_id?: string }) => each.app_id === app.id) ?? items[0];
    await done(tenant.admin.call('POST', `${tenant.base}/reviews/${review.id}/approve`, {}));
    expect(await menu()).toMatchObject({ access: 'read-write' });
  });
});

const serverJs =
  "require('node:http').createServer((request, response) => response.end('lunch')).listen(process.env.PORT)";

describe('tables of a running app', () => {
  async function newRunning() {
    const { member: owner, server } = tenant;
    const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
    const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
    return {
      app,
      owner,
      svc,
      deploy: async (tables: string, { program = serverJs, flags = [] as string[] } = {}) => {
        const folder = folderOf({ 'svc.yaml': `start: node server.js\n${tables}`, 'server.js': program });
        const ran = await svc(['deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json', ...flags]);
        return { ...ran, json: () => ran.json<Deployed>() };
      },
      schema: async () => (await done(owner.call('GET', `${app.base}/schema`))).tables,
      rows: async (table: string) =>
        (await done(owner.call('GET', `/data/${tenant.slug}/${app.slug}/${table}`))).data,
    };
  }

  const before = 'tables: { menu: { columns: [dish:text, price:int], indexes: [dish] }, old: { columns: [x:int] } }\n';
  const after = `tables:
  dishes:
    was: menu
    columns: [{ name: title, type: text, was: dish }, 'vegan:bool:false', 'notes:text[]:nullable']
    indexes: [title:unique]
    access: read-write
  orders: { columns: ['amount:decimal(12,2)'] }
`;

  test('go back when the deployment fails, and lose nothing before it is healthy', async () => {
    const { app, owner, svc, deploy, schema, rows } = await newRunning();
    const first = await deploy(before);
    expect(first.json().state).toBe('live');
    await done(owner.call('POST', `/data/${tenant.slug}/${app.slug}/menu`, { dish: 'soup', price: 4 }));
    const [stored, row] = [await schema(), (await rows('menu'))[0]];
    const flags = ['--prune', '--allow-destructive'];
    const failed = await deploy(after, { program: 'process.exit(1)', flags });
    expect([failed.code, failed.json().state]).toEqual([9, 'failed']);
    expect(await schema()).toEqual(stored);
    expect(await rows('menu')).toEqual([row]);
    const log = (await svc(['deployments', 'logs', failed.json().id, '--app', app.id])).stdout;
    expect(log).toContain('When the new version is healthy: drop column dishes.price; drop table old.');
    expect(log).toContain('The tables are as before the deployment.');

    const live = await deploy(after, { flags });
    expect([live.json().failure, live.json().state]).toEqual([null, 'live']);
    expect(await schema()).toMatchObject({
      dishes: { columns: ['title:text', 'vegan:bool:false', 'notes:text[]:nullable'], access: 'read-write' },
      orders: { columns: ['amount:decimal(12,2)'] },
    });
    expect(Object.keys(await schema())).toEqual(['dishes', 'orders']);
    expect(await rows('dishes')).toMatchObject([{ id: row.id, title: 'soup', vegan: false }]);
    const back = await svc(['deployments', 'rollback', first.json().id, '--app', app.id]);
    expect(back.stdout).toContain('A rollback does not change tables.');
    expect(back.stdout).toContain('create table menu');
  });

  test('lose values only as a reviewer has seen it', async () => {
    const { app, deploy, schema } = await newRunning();
    await deploy(before);
    expect((await deploy(after, { flags: ['--prune'] })).json().failure?.detail).toContain(
      'drop table old. Nothing was changed. Deploy with --allow-destructive',
    );
    await setApp(tenant.server, app.id, { visibility: 'internet' });
    const stored = await schema();
    const waiting = await deploy(after, { flags: ['--prune'] });
    expect([waiting.code, waiting.json().state]).toEqual([11, 'built']);
    expect(await schema()).toEqual(stored);
    const { items } = await done(tenant.admin.call('GET', `${tenant.base}/reviews?status=pending&app=${app.id}`));
    const review = `${tenant.base}/reviews/${items[0].id}`;
    const { diff } = await done(tenant.admin.call('GET', review));
    expect(
      diff.tables.filter(({ destructive }: { destructive: boolean }) => destructive),
    ).toMatchObject([{ text: 'drop column dishes.price' }, { text: 'drop table old' }]);
    await done(tenant.admin.call('POST', `${review}/approve`, {}));
    await until('the tables are changed', async () => Object.keys(await schema()).join() === 'dishes,orders');
  });
});
