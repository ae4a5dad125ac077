import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { useFixture } from '../scripts/use-fixture.ts';
import { isOnCitus } from './support/citus.ts';
import { svcFor } from './support/commands.ts';
import { done, newApp, newTenant } from './support/people.ts';
import { temporaryFolder } from './support/server.ts';

const tenant = useFixture(newTenant);

const lunch = `roles: [manager]
tables:
  menu:
    columns: [dish:text, price:int]
    access: { read: [any], write: [role:manager, app] }
  orders:
    description: What people want to eat
    owner_column: by
    columns: [by:uuid, dish:text, 'note:text:nullable']
    access:
      preset: own
      read: [own, role:manager]
      columns: { note: { read: [own], write: [own] } }
`;

async function newLunch() {
  const { member: owner } = tenant;
  const app = await newApp(tenant, { owner });
  const file = join(temporaryFolder(), 'tables.yaml');
  const svc = svcFor(tenant.server, { token: owner.token, tenant: tenant.slug });
  const write = (text: string) => writeFileSync(file, text);
  write(lunch);
  const apply = (...more: string[]) =>
    svc(['tables', 'apply', '--app', app.slug, '--file', file, '--json', ...more]);
  return { app, owner, svc, write, apply, file };
}

test('a schema file of tables create has rules, and --access overrides them', async () => {
  const { app, owner, svc, write, file } = await newLunch();
  write(
    'columns: [dish:text, cost:int]\naccess: { read: [role:manager], columns: { cost: { read: [none] } } }\n',
  );
  for (const more of [['one'], ['two', '--access', 'closed']])
    expect(
      (await svc(['tables', 'create', ...more, '--app', app.slug, '--schema', file, '--execute'])).code,
    ).toBe(0);
  expect(await done(owner.call('GET', `${app.base}/tables/one/access`))).toMatchObject({
    read: ['role:manager'],
    columns: { cost: { read: ['none'] } },
  });
  expect(await done(owner.call('GET', `${app.base}/tables/two/access`))).toMatchObject({ preset: 'closed' });
});

describe('svc tables apply', () => {
  test('previews, then creates tables with their rules, and changes nothing the second time', async () => {
    const { app, owner, svc, apply } = await newLunch();
    const { plan } = JSON.parse((await apply()).stdout);
    const planned = plan.changes.filter(({ path }: { path: string }) => path.endsWith('access'));
    expect(planned).toMatchObject([
      { path: 'access', after: { read: ['any'], insert: ['role:manager', 'app'] } },
      { path: 'table orders.access', after: { read: ['own', 'role:manager'], delete: ['own', 'app'] } },
    ]);
    expect((await done(owner.call('GET', `${app.base}/tables`))).items).toEqual([]);
    const first = await apply('--execute');
    expect(JSON.parse(first.stdout)).toMatchObject({ created: ['menu', 'orders'], changed: true });
    expect(await done(owner.call('GET', `${app.base}/tables/orders/access`))).toMatchObject({
      read: ['own', 'role:manager'],
      insert: ['own', 'app'],
      columns: { note: { read: ['own'], write: ['own'] } },
    });
    const second = await apply('--execute');
    expect(JSON.parse(second.stdout)).toMatchObject({ created: [], columns: [], rules: [], changed: false });
    const exported = await svc(['tables', 'export', '--app', app.slug]);
    expect(parse(exported.stdout)).toMatchObject({
      roles: ['manager'],
      tables: {
        menu: { columns: ['dish:text', 'price:int'] },
        orders: { owner_column: 'by', columns: ['by:uuid', 'dish:text', 'note:text:nullable'] },
      },
    });
  });

  test('takes its own export, in another app too', async () => {
    const one = await newLunch();
    await one.apply('--execute');
    const exported = await one.svc(['tables', 'export', '--app', one.app.slug]);
    one.write(exported.stdout);
    expect(JSON.parse((await one.apply('--execute')).stdout)).toMatchObject({ changed: false });
    const other = await newLunch();
    other.write(exported.stdout);
    await other.apply('--execute');
    const again = await other.svc(['tables', 'export', '--app', other.app.slug]);
    expect(again.stdout).toBe(exported.stdout);
  });

  test('adds columns and sets rules, and drops nothing', async () => {
    const { app, owner, apply, write } = await newLunch();
    await apply('--execute');
    write('tables: { menu: { columns: [dish:text, "vegan:bool:false"], access: read-only } }');
    const changed = await apply('--execute');
    expect(JSON.parse(changed.stdout)).toMatchObject({
      created: [],
      columns: ['menu.vegan'],
      rules: ['menu'],
      changed: true,
      left: [{ text: 'drop column menu.price' }, { text: 'drop table orders' }],
    });
    const menu = await done(owner.call('GET', `${app.base}/tables/menu`));
    expect(menu.columns.map(({ name }: { name: string }) => name)).toContain('price');
    expect((await owner.call('GET', `${app.base}/tables/orders`)).status).toBe(200);
    expect((await done(owner.call('GET', `${app.base}/tables/menu/access`))).preset).toBe('read-only');
  });

  test('refuses a type that loses values, another owner column, an unknown role and a file without tables', async () => {
    const { apply, write } = await newLunch();
    await apply('--execute');
    const codes: unknown[] = [];
    for (const text of [
      'tables: { menu: { columns: [dish:int] } }',
      'tables: { orders: { owner_column: dish } }',
      'roles: [cook]\ntables: { menu: { access: { write: [role:manager] } } }',
      'tables: { menu: { access: { write: [rule:manager] } } }',
      'columns: [dish:int]',
    ]) {
      write(text);
      const { code, stderr } = await apply('--execute');
      codes.push([code, /"code": ?"(\w+)"/.exec(stderr)?.[1]]);
    }
    expect(codes).toEqual([
      [6, 'destructive_change'],
      [6, 'immutable_field'],
      [7, 'validation_failed'],
      [7, 'validation_failed'],
      [2, 'usage'],
    ]);
  });
});

describe('svc apply', () => {
  test.skipIf(isOnCitus)(
    'covers references, search, files, feeds, history and trash; its export means the same',
    async () => {
      const { app, owner, svc, write, file } = await newLunch();
      const apply = (...more: string[]) => svc(['apply', '--app', app.slug, '--file', file, ...more]);
      write(`tables:
  dishes:
    columns: [title:text, body:text, 'cook:ref:cooks:nullable(on_delete=set_null)']
    changes: true
    history: 30d
    soft_delete: 7d
    indexes:
      - search: { title: A, body: B }
        language: german
  cooks:
    columns: [name:text, 'photo:file(max=5MB,types=image/*):nullable', best:ref:dishes:nullable]
`);
      expect((await apply('--execute')).code).toBe(0);
      expect((await apply('--check')).code).toBe(0);
      expect(await done(owner.call('GET', `${app.base}/tables/dishes`))).toMatchObject({
        changes: true,
        history: '30d',
        soft_delete: '7d',
      });
      const exported = await svc(['tables', 'export', '--app', app.slug]);
      expect(parse(exported.stdout).tables).toMatchObject({
        dishes: {
          history: '30d',
          indexes: [{ search: { title: 'A', body: 'B' }, language: 'german' }],
        },
        cooks: {
          columns: ['name:text', 'photo:file(max=5MB,types=image/*):nullable', 'best:ref:dishes:nullable'],
        },
      });
      write(exported.stdout);
      expect((await apply('--check')).code).toBe(0);
      write('tables: { dishes: { history: 10d, changes: false }, cooks: {} }');
      const shorter = await apply('--check');
      expect([shorter.code, shorter.stdout]).toEqual([
        6,
        'set changes=false of dishes\nset history=10d of dishes (destructive)\n',
      ]);
      expect((await apply('--execute')).stderr).toContain('destructive_change');
      expect((await apply('--allow-destructive', '--execute')).code).toBe(0);
      write(
        'tables: { cooks: { columns: [name:text, "photo:file(max=9MB):nullable", best:uuid:nullable] } }',
      );
      expect((await apply('--execute')).code).toBe(0);
      const other = await newLunch();
      other.write(exported.stdout);
      await other.apply('--execute');
      expect((await other.svc(['tables', 'export', '--app', other.app.slug])).stdout).toBe(exported.stdout);
    },
  );

  test('shows destructive steps in the plan, and executes them only if that is allowed', async () => {
    const { app, owner, svc, write, file } = await newLunch();
    const apply = (...more: string[]) => svc(['apply', '--app', app.slug, '--file', file, ...more]);
    expect((await apply('--execute')).code).toBe(0);
    write(
      'tables: { dishes: { was: menu, columns: [{ name: title, type: text, was: dish }], indexes: [title:unique] } }',
    );
    const preview = await apply('--prune');
    expect([preview.code, preview.stdout]).toEqual([
      0,
      expect.stringContaining('Destructive: drop column dishes.price.'),
    ]);
    expect(preview.stdout).toContain('Destructive: drop table orders.');
    const refused = await apply('--prune', '--execute');
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('drop column dishes.price')]);
    expect((await owner.call('GET', `${app.base}/tables/menu`)).status).toBe(200);
    const done = await apply('--prune', '--allow-destructive', '--execute', '--json');
    expect(JSON.parse(done.stdout).steps.map(({ text }: { text: string }) => text)).toEqual([
      'rename table menu to dishes',
      'rename column dishes.dish to title',
      'add to dishes the unique index (title)',
      'drop column dishes.price',
      'drop table orders',
    ]);
    expect((await owner.call('GET', `${app.base}/tables/orders`)).status).toBe(404);
  });

  test('reports differences with --check and exit code 6, and changes nothing', async () => {
    const { app, svc, file } = await newLunch();
    const apply = (...more: string[]) => svc(['apply', '--app', app.slug, '--file', file, ...more]);
    const missing = await apply('--check', '--json');
    expect((await apply('--check')).stdout).toBe(
      'create table menu, rules: read any; insert role:manager, app; update role:manager, app; delete role:manager, app\n' +
        'create table orders, rules: read own, role:manager; insert own, app; update own, app; delete own, app; limits on note\n',
    );
    expect([missing.code, JSON.parse(missing.stdout)]).toMatchObject([
      6,
      { differs: true, steps: [{ text: 'create table menu' }, { text: 'create table orders' }] },
    ]);
    expect(missing.stderr).toContain('schema_differs');
    await apply('--execute');
    expect((await apply('--check')).code).toBe(0);
    await svc([
      'tables',
      'columns',
      'add',
      'menu',
      '--app',
      app.slug,
      '--column',
      'extra:int:nullable',
      '--execute',
    ]);
    const drifted = await apply('--check');
    expect([drifted.code, drifted.stdout]).toEqual([6, 'drop column menu.extra (destructive)\n']);
    expect((await apply('--check', '--execute')).code).toBe(2);
  });
});
