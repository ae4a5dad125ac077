import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { jsonOutput, svcAs, svcFor } from './support/commands.ts';
import { newCategory } from './support/fixtures.ts';
import { newWorld } from './support/world.ts';

interface Category {
  id: string;
  slug: string;
  name: string;
  description: string;
  color: string;
  icon_url: string;
  display_order: number;
}

const world = useFixture(newWorld);
const svc = svcAs(() => [world.tenant, world.people.A]);
const asMember = svcAs(() => [world.tenant, world.people.M]);

const slugs = async (...args: string[]) =>
  (await jsonOutput<{ items: Category[] }>(asMember, 'categories', 'list', ...args)).items.map(
    ({ slug }) => slug,
  );
const path = () => `${world.tenant.base}/categories`;
const icon = () => `${world.tenant.server.baseUrl}/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31`;

describe('svc categories', () => {
  test('creates a category, shows it to members, changes it, and deletes it', async () => {
    const flags = [
      '--name',
      'Field Work',
      '--description',
      'Outside',
      '--color',
      '#00897B',
      '--icon-url',
      icon(),
      '--display-order',
      '5',
    ];
    const made = await jsonOutput<Category>(svc, 'categories', 'create', ...flags, '--execute');
    expect(made).toMatchObject({
      name: 'Field Work',
      slug: 'field-work',
      description: 'Outside',
      color: '#00897b',
      icon_url: icon(),
      display_order: 5,
    });
    for (const ref of [made.id, made.slug])
      expect(await jsonOutput<Category>(asMember, 'categories', 'get', ref)).toEqual(made);

    const change = [
      '--slug',
      'outdoors',
      '--name',
      'Outdoors',
      '--color',
      '',
      '--display-order=-1',
      '--execute',
    ];
    const changed = await jsonOutput<Category>(svc, 'categories', 'update', 'field-work', ...change);
    expect(changed).toMatchObject({
      id: made.id,
      slug: 'outdoors',
      name: 'Outdoors',
      color: '',
      display_order: -1,
      description: 'Outside',
    });
    // The flag of the first release, --id, still works.
    await jsonOutput(svc, 'categories', 'update', '--id', made.id, '--description', '', '--execute');
    expect(await jsonOutput<Category>(asMember, 'categories', 'get', 'outdoors')).toMatchObject({
      description: '',
    });

    const deleted = await jsonOutput(svc, 'categories', 'delete', '--id', 'outdoors', '--execute', '-y');
    expect(deleted).toEqual({ deleted: true, id: made.id });
    const gone = await asMember(['categories', 'get', made.id, '--json']);
    expect([gone.code, JSON.parse(gone.stderr).code]).toEqual([5, 'not_found']);
  });

  test('lists by display order and name, by page or all', async () => {
    for (const [slug, name, display_order] of [
      ['list-c', 'Beta', -100],
      ['list-b', 'alpha', -100],
      ['list-a', 'Omega', -200],
    ])
      expect((await world.as.A('POST', path(), { slug, name, display_order })).status).toBe(201);
    expect(await slugs('--per-page', '2')).toEqual(['list-a', 'list-b']);
    expect((await slugs('--page', '2', '--per-page', '2'))[0]).toBe('list-c');
    const { total } = (await world.as.M('GET', path())).body;
    expect(await slugs('--all')).toHaveLength(total);
    const table = await asMember(['categories', 'list']);
    expect([table.code, table.stdout]).toEqual([0, expect.stringContaining('list-a')]);
  });

  test('previews without --execute: nothing is created, changed or deleted', async () => {
    const { id, slug } = await newCategory(world);
    const before = (await world.as.A('GET', `${path()}/${id}`)).body;
    const { total } = (await world.as.A('GET', path())).body;
    for (const [operation, ...args] of [
      ['categories.create', 'create', '--name', 'Never There'],
      ['categories.update', 'update', slug, '--name', 'Never So'],
      ['categories.delete', 'delete', slug],
    ] as const) {
      const { plan } = await jsonOutput<{ plan: { operation: string; changes: unknown[] } }>(
        svc,
        'categories',
        ...args,
      );
      expect([plan.operation, plan.changes.length > 0]).toEqual([operation, true]);
    }
    expect((await world.as.A('GET', `${path()}/${id}`)).body).toEqual(before);
    expect((await world.as.A('GET', path())).body.total).toBe(total);
  });

  test('deleting a category of apps reports how many, and leaves the apps in place', async () => {
    const { id, slug } = await newCategory(world);
    const apps = `${world.tenant.base}/apps`;
    const name = `app-${Bun.randomUUIDv7().slice(-12)}`;
    const app = await world.as.O('POST', apps, { name, category: slug });
    expect([app.status, app.body.category_id]).toEqual([201, id]);
    const shown = await svc(['categories', 'delete', slug]);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('1 app will have no category.')]);
    await jsonOutput(svc, 'categories', 'delete', slug, '--execute', '--yes');
    expect((await world.as.O('GET', `${apps}/${app.body.id}`)).body).toMatchObject({
      name,
      category_id: null,
    });
  });

  test.each<[string, string[], number, string]>([
    ['a slug that is there', ['create', '--name', 'Taken', '--execute'], 6, 'unique_violation'],
    ['a category that is not', ['update', 'nowhere', '--name', 'x', '--execute'], 5, 'not_found'],
    ['deleting one that is not', ['delete', 'nowhere', '--execute', '--yes'], 5, 'not_found'],
    ['deleting unasked', ['delete', 'taken', '--execute'], 11, 'confirmation_required'],
    ['a colour by name', ['create', '--name', 'New', '--color', 'red'], 7, 'validation_failed'],
    [
      'an icon from elsewhere',
      [
        'create',
        '--name',
        'New',
        '--icon-url',
        'https://example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31',
      ],
      7,
      'validation_failed',
    ],
    ['a name without a letter', ['create', '--name', '2026'], 7, 'validation_failed'],
    ['an order that is no number', ['create', '--name', 'New', '--display-order', 'x'], 2, 'usage'],
    ['no name', ['create'], 2, 'usage'],
    ['a change of nothing', ['update', 'taken'], 2, 'usage'],
    ['no category', ['delete', '--execute'], 2, 'usage'],
    ['two categories', ['delete', 'taken', '--id', 'other'], 2, 'usage'],
  ])('%s is refused by name', async (_, args, exit, code) => {
    await world.as.A('POST', path(), { name: 'Taken' });
    const ran = await svc(['categories', ...args, '--json']);
    expect([ran.code, JSON.parse(ran.stderr).code]).toEqual([exit, code]);
  });

  test('a member cannot change categories: 403 and exit 4, also for a preview', async () => {
    const { slug } = await newCategory(world);
    for (const args of [
      ['create', '--name', 'Mine', '--execute'],
      ['update', slug, '--name', 'Mine', '--execute'],
      ['delete', slug, '--execute', '--yes'],
      ['delete', slug],
    ]) {
      const ran = await asMember(['categories', ...args, '--json']);
      const problem = JSON.parse(ran.stderr);
      expect([args, ran.code, problem.status, problem.code]).toEqual([args, 4, 403, 'forbidden']);
    }
  });
});

describe('resource presets and templates', () => {
  test('resource-presets lists the tiers for every member, and which the tenant may use', async () => {
    const { items } = await jsonOutput<{ items: unknown[] }>(asMember, 'apps', 'resource-presets');
    expect(items).toEqual([
      { name: 'XS', cpu: 0.25, memory_mb: 256, disk_mb: 512, allowed: true, default: false },
      { name: 'S', cpu: 0.5, memory_mb: 512, disk_mb: 1024, allowed: true, default: true },
      { name: 'M', cpu: 1, memory_mb: 1024, disk_mb: 2048, allowed: true, default: false },
      { name: 'L', cpu: 2, memory_mb: 2048, disk_mb: 5120, allowed: true, default: false },
      { name: 'XL', cpu: 4, memory_mb: 4096, disk_mb: 10_240, allowed: false, default: false },
    ]);
  });

  test('templates list shows the built-in templates with their aliases to every member', async () => {
    const { items } = await jsonOutput<{ items: { alias: string }[] }>(asMember, 'apps', 'templates', 'list');
    expect(items.map(({ alias }) => alias)).toEqual(['astro', 'nextjs', 'react']);
    const table = await asMember(['apps', 'templates', 'list']);
    expect([table.code, table.stdout]).toEqual([0, expect.stringContaining('nextjs')]);
  });

  test.each(['categories list', 'apps resource-presets', 'apps templates list'])(
    '%s shows nothing to outsiders',
    async (words) => {
      const { server, slug: tenant } = world.tenant;
      const ran = await svcFor(server, { token: world.people.X.token, tenant })([
        ...words.split(' '),
        '--json',
      ]);
      expect([ran.code, JSON.parse(ran.stderr).code]).toEqual([5, 'not_found']);
    },
  );
});
