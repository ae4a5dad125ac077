import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { setApp } from './support/database.ts';
import { done, newTenant } from './support/people.ts';
import {
  tablesAfter as after,
  tablesBefore as before,
  newRunningApp,
  rowsServerSource,
} from './support/tables-deploy.ts';
import { until } from './support/until.ts';

const tenant = useFixture(newTenant);

describe('tables of a running app', () => {
  test('go back when the deployment fails, and lose nothing before it is healthy', async () => {
    const { app, owner, svc, deploy, schema, rows, ask } = await newRunningApp(tenant);
    const first = await deploy(before, { program: rowsServerSource('menu?select=dish,price') });
    expect(first.json().state).toBe('live');
    await done(owner.call('POST', `/data/${tenant.slug}/${app.slug}/menu`, { dish: 'soup', price: 4 }));
    const answer = [200, '[{"dish":"soup","price":4}]'];
    await until('the app answers', async () => Bun.deepEquals(await ask(), answer));
    const [stored, row] = [await schema(), (await rows('menu'))[0]];
    const flags = ['--prune', '--allow-destructive'];
    const failed = await deploy(after, { program: 'process.exit(1)', flags });
    expect([failed.code, failed.json().state]).toEqual([9, 'failed']);
    expect(await schema()).toEqual(stored);
    expect(await rows('menu')).toEqual([row]);
    expect(await ask()).toEqual(answer);
    const log = (await svc(['deployments', 'logs', failed.json().id, '--app', app.id])).stdout;
    expect(log).toContain('When the new version is healthy: drop column dishes.price; drop table old.');
    expect(log).toContain('The tables are as before the deployment.');

    const live = await deploy(after, { flags, program: rowsServerSource('dishes?select=title,vegan') });
    expect([live.json().failure, live.json().state]).toEqual([null, 'live']);
    expect(await schema()).toMatchObject({
      dishes: { columns: ['title:text', 'vegan:bool:false', 'notes:text[]:nullable'], access: 'read-write' },
      orders: { columns: ['amount:decimal(12,2)'] },
    });
    expect(Object.keys(await schema())).toEqual(['dishes', 'orders']);
    expect(await rows('dishes')).toMatchObject([{ id: row.id, title: 'soup', vegan: false }]);
    const changed = [200, '[{"title":"soup","vegan":false}]'];
    await until('the new version answers', async () => Bun.deepEquals(await ask(), changed));
    const back = await svc(['deployments', 'rollback', first.json().id, '--app', app.id]);
    expect(back.stdout).toContain('A rollback does not change tables.');
    expect(back.stdout).toContain('create table menu');
  });

  test('lose values only as a reviewer has seen it', async () => {
    const { app, deploy, schema } = await newRunningApp(tenant);
    await deploy(before);
    expect((await deploy(after, { flags: ['--prune'] })).json().failure?.detail).toContain(
      'drop table old. Nothing was changed. Deploy with --allow-destructive',
    );
    await setApp(tenant.server, app.id, { visibility: 'internet' });
    const stored = await schema();
    const waiting = await deploy(after, { flags: ['--prune'] });
    expect([waiting.code, waiting.json().state]).toEqual([11, 'built']);
    expect(await schema()).toEqual(stored);
    const { items } = await done(
      tenant.admin.call('GET', `${tenant.base}/reviews?status=pending&app=${app.id}`),
    );
    const review = `${tenant.base}/reviews/${items[0].id}`;
    const { diff } = await done(tenant.admin.call('GET', review));
    expect(diff.tables.filter(({ destructive }: { destructive: boolean }) => destructive)).toMatchObject([
      { text: 'drop column dishes.price' },
      { text: 'drop table old' },
    ]);
    await done(tenant.admin.call('POST', `${review}/approve`, {}));
    await until('the tables are changed', async () => Object.keys(await schema()).join() === 'dishes,orders');
  });
});
