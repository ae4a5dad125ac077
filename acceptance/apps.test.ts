import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { jsonOutput, type Svc, svcAs, svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { newCategory } from './support/fixtures.ts';
import { temporaryFolder } from './support/server.ts';
import { newWorld } from './support/world.ts';

// biome-ignore lint/suspicious/noExplicitAny: records of the API, checked field by field.
type Json = any;

const world = useFixture(newWorld);
const svc = svcAs(() => [world.tenant, world.people.O]);
const asMember = svcAs(() => [world.tenant, world.people.M]);

const icon = (digit: number) =>
  `${world.tenant.server.baseUrl}/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3${digit}`;
const unique = (word: string) => `${word}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;

async function refusal(who: Svc, ...args: string[]): Promise<[number, string]> {
  const ran = await who([...args, '--json']);
  return [ran.code, (JSON.parse(ran.stderr) as { code: string }).code];
}

describe('svc apps create', () => {
  test('with every flag creates the app that they describe; its preview creates none', async () => {
    const slug = unique('full');
    const category = await newCategory(world);
    const line = [
      'apps',
      'create',
      '--name',
      'Pet Shop',
      '--slug',
      slug,
      '--subdomain',
      `${slug}-host`,
      '--auth-mode',
      'api_key',
      '--category',
      category.slug,
      '--data-scopes',
      'orders,people',
      '--deploy-method',
      'static',
      '--description',
      'At length',
      '--summary',
      'In short',
      '--icon-url',
      icon(1),
      '--icon-dark-url',
      icon(2),
      '--resource-tier',
      'L',
      '--cost-center',
      '4711',
    ];
    const preview = await jsonOutput(svc, ...line);
    expect([preview.dry_run, preview.plan.operation]).toEqual([true, 'apps.create']);
    expect(await refusal(svc, 'apps', 'get', slug)).toEqual([5, 'not_found']);
    const made = await jsonOutput(svc, ...line, '--execute', '--plan', preview.plan.fingerprint);
    expect(made).toMatchObject({
      slug,
      name: 'Pet Shop',
      subdomain: `${slug}-host`,
      auth_mode: 'api_key',
      category_id: category.id,
      data_scopes: ['orders', 'people'],
      deploy_method: 'static',
      description: 'At length',
      summary: 'In short',
      resource_preset: 'L',
      cost_center: '4711',
      visibility: 'private',
      icon_url: icon(1),
      icon_dark_url: icon(2),
      deployment_status: 'draft',
      operating_status: 'dev',
      runtime: 'none',
      record: 'active',
    });
    const { port } = new URL(world.tenant.server.baseUrl);
    expect(await jsonOutput(svc, 'apps', 'get', made.id)).toEqual({
      ...made,
      url: `http://${slug}-host.apps.localhost:${port}/`,
      relation: 'owner',
      owner_email: expect.stringContaining('@'),
      owner_name: expect.stringMatching(/./),
    });
  });

  test('accepts a file of fields in YAML or JSON, or svc.yaml; flags override it', async () => {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return ['apps', 'create', '--from-file', join(folder, name), '--execute'];
    };
    const [one, two, three] = [unique('yaml'), unique('json'), unique('manifest')];
    const fields = file('app.yaml', `name: From a file\nslug: ${one}\nresource-tier: M\ndata_scopes: [a]\n`);
    expect(await jsonOutput(svc, ...fields, '--name', 'From a flag')).toMatchObject({
      name: 'From a flag',
      slug: one,
      resource_preset: 'M',
      data_scopes: ['a'],
    });
    const json = file('app.json', JSON.stringify({ name: 'J', slug: two, deploy_method: 'compose' }));
    expect(await jsonOutput(svc, ...json)).toMatchObject({ slug: two, deploy_method: 'compose' });
    const manifest = file(
      'svc.yaml',
      `name: Manifest\napp:\n  slug: ${three}\n  summary: Short\ndeploy:\n  method: static\nstorage:\n  enabled: true\n`,
    );
    const made = await jsonOutput(svc, ...manifest);
    expect(made).toMatchObject({ slug: three, summary: 'Short', deploy_method: 'static', name: 'Manifest' });
    expect(await jsonOutput(svc, 'apps', 'storage', 'status', '--app', three)).toMatchObject({
      enabled: true,
    });
    expect(await refusal(svc, ...file('bad.yaml', 'name: x\nbiuld: y\n'))).toEqual([7, 'validation_failed']);
    expect((await svc(file('empty.json', '{}'))).code).toBe(2);
  });

  test('refuses a taken, too large, reserved or unknown value and one above the tier, each with its exit code', async () => {
    const slug = unique('taken');
    const { subdomain } = await jsonOutput(svc, 'apps', 'create', '--slug', slug, '--execute');
    const create = ['apps', 'create', '--execute', '--name', unique('name')];
    const cases: [string[], [number, string]][] = [
      [
        ['--slug', slug],
        [6, 'slug_taken'],
      ],
      [
        ['--slug', unique('a'), '--subdomain', subdomain],
        [6, 'subdomain_taken'],
      ],
      [
        ['--resource-tier', 'XL'],
        [7, 'resource_tier_exceeded'],
      ],
      [
        ['--slug', 'search'],
        [7, 'validation_failed'],
      ],
      [
        ['--subdomain', 'www'],
        [7, 'validation_failed'],
      ],
      [
        ['--slug', 'No Slug'],
        [7, 'validation_failed'],
      ],
      [
        ['--category', 'no-such'],
        [7, 'validation_failed'],
      ],
      [
        ['--summary', 'x'.repeat(61)],
        [7, 'validation_failed'],
      ],
    ];
    for (const [flags, expected] of cases)
      expect([flags, await refusal(svc, ...create, ...flags)]).toEqual([flags, expected]);
    for (const flags of [
      ['--deploy-method', 'wasm'],
      ['--resource-tier', 'XXL'],
      ['--auth-mode', 'none'],
    ])
      expect([flags, (await svc([...create, ...flags])).code]).toEqual([flags, 2]);
    expect((await svc(['apps', 'create', '--execute'])).code).toBe(2);
    expect((await svc(['apps', 'create', '--interactive'])).code).toBe(11);
    expect((await svc([...create, '--dry-run'])).code).toBe(2);
  });
});

describe('svc apps update', () => {
  test('changes and clears; clearing wins over a category, and excludes a subdomain', async () => {
    const slug = unique('update');
    const category = await newCategory(world);
    await jsonOutput(
      svc,
      'apps',
      'create',
      '--slug',
      slug,
      '--cost-center',
      '1',
      '--category',
      category.id,
      '--execute',
    );
    const update = (...flags: string[]) => jsonOutput(svc, 'apps', 'update', slug, ...flags, '--execute');
    expect(await update('--name', 'New', '--resource-tier', 'M', '--data-scopes', 'a,b')).toMatchObject({
      name: 'New',
      resource_preset: 'M',
      data_scopes: ['a', 'b'],
      category_id: category.id,
    });
    const ran = await svc([
      'apps',
      'update',
      slug,
      '--clear-category',
      '--category-id',
      category.id,
      '--execute',
      '--json',
    ]);
    expect([ran.code, ran.json<Json>().category_id]).toEqual([0, null]);
    expect(ran.stderr).toContain('--category-id is ignored');
    expect(await update('--clear-cost-center', '--clear-subdomain')).toMatchObject({
      cost_center: null,
      subdomain: null,
    });
    expect(await update('--description', '', '--summary', '')).toMatchObject({ changed: false });
    const both = ['apps', 'update', slug, '--clear-subdomain', '--subdomain', 'x1', '--execute'];
    expect((await svc(both)).code).toBe(2);
    expect((await svc(['apps', 'update', slug])).code).toBe(2);
  });

  test('refuses to widen the visibility, to change the deploy method, and changes by others', async () => {
    const slug = unique('fixed');
    await jsonOutput(svc, 'apps', 'create', '--slug', slug, '--execute');
    const update = (who: Svc, ...flags: string[]) =>
      refusal(who, 'apps', 'update', slug, ...flags, '--execute');
    expect(await update(svc, '--visibility', 'public')).toEqual([6, 'visibility_widen_not_allowed']);
    expect(await update(svc, '--deploy-method', 'static')).toEqual([6, 'immutable_field']);
    expect(await update(svc, '--resource-tier', 'XL')).toEqual([7, 'resource_tier_exceeded']);
    expect(await update(asMember, '--name', 'Mine')).toEqual([5, 'not_found']);
    const preview = await jsonOutput(svc, 'apps', 'update', slug, '--name', 'Other');
    expect(preview.plan.changes).toEqual([{ path: 'name', before: slug, after: 'Other', effect: 'update' }]);
    expect((await jsonOutput(svc, 'apps', 'get', slug)).name).toBe(slug);
  });
});

describe('svc apps list, mine, owned, received and discover', () => {
  test('page, filter and sort by their flags, and follow every page with --all', async () => {
    const own = await newWorld();
    const owner = svcFor(own.tenant.server, { token: own.people.O.token, tenant: own.tenant.slug });
    const names = ['ada', 'bob', 'cyd', 'dan', 'eve'];
    for (const name of names)
      await own.as.O('POST', `${own.tenant.base}/apps`, { name: `Tool ${name}`, slug: `tool-${name}` });
    const slugs = async (...args: string[]) =>
      (await jsonOutput(owner, 'apps', ...args)).items.map(({ slug }: Json) => slug);
    const tools = names.map((name) => `tool-${name}`);
    expect(await slugs('list', '--q', 'tool', '--sort', 'slug')).toEqual(tools);
    expect(await slugs('list', '--q', 'tool', '--sort', 'slug', '--page-size', '2', '--page', '2')).toEqual(
      tools.slice(2, 4),
    );
    expect(await slugs('list', '--q', 'tool', '--sort', 'slug', '--per-page', '2', '--page', '3')).toEqual(
      tools.slice(4),
    );
    expect((await slugs('list', '--all', '--sort', '-slug')).slice(0, 5)).toEqual([...tools].reverse());
    expect(await slugs('list', '--status', 'deployed')).toEqual([]);
    expect(await slugs('list', '--operating-status-in', 'live,archived')).toEqual([]);
    expect(await slugs('list', '--visibility', 'internet')).toEqual([]);
    expect(await slugs('search', 'tool bob')).toEqual(['tool-bob']);
    expect(await slugs('search', 'tol bbo')).toEqual(['tool-bob']);
    const limited = await owner(['apps', 'search', 'tool', '--limit', '2', '--per-page', '4', '--json']);
    expect([limited.json<Json>().items.length, limited.stderr]).toEqual([
      2,
      '--per-page is ignored because --limit is given.\n',
    ]);
    const first = await jsonOutput(owner, 'apps', 'search', 'tool', '--limit', '3', '--sort', 'slug');
    const rest = await slugs('search', 'tool', '--sort', 'slug', '--cursor', first.next_cursor);
    expect([...first.items.map(({ slug }: Json) => slug), ...rest]).toEqual(tools);
    expect(await slugs('search', 'tool', '--all', '--sort', 'slug')).toEqual(tools);
    for (const word of ['mine', 'owned', 'workspace'])
      expect((await slugs(word)).filter((slug: string) => slug.startsWith('tool-'))).toEqual(tools);
    expect(await slugs('received')).toEqual([]);
    expect(await slugs('discover')).toEqual([]);
    const coOwner = svcFor(own.tenant.server, { token: own.people.C.token, tenant: own.tenant.slug });
    expect((await jsonOutput(coOwner, 'apps', 'received')).items).toMatchObject([
      { slug: own.app.slug, relation: 'co_owner' },
    ]);
  });

  test('filter by each flag', async () => {
    const own = await newWorld();
    const { server, slug: tenant, base } = own.tenant;
    const owner = svcFor(server, { token: own.people.O.token, tenant });
    const make = async (slug: string, fields = {}) =>
      (await own.as.O('POST', `${base}/apps`, { name: `Tool ${slug}`, slug, ...fields })).body.id as string;
    const category = await newCategory(own);
    await make('drafted', { category: category.slug });
    await setApp(server, await make('shipped'), { runtime: 'running', is_deployed: true });
    await setApp(server, await make('opened'), {
      runtime: 'running',
      is_deployed: true,
      visibility: 'public',
    });
    const draft = [own.app.slug, 'drafted'];
    const all = [...draft, 'opened', 'shipped'];
    const find = async (who: Svc, ...args: string[]) =>
      (await jsonOutput(who, 'apps', ...args)).items.map(({ slug }: Json) => slug).sort();
    for (const [line, expected] of [
      ['list', all],
      ['list --status draft', draft],
      ['list --status deployed', ['opened', 'shipped']],
      ['list --operating-status dev', [...draft, 'shipped']],
      ['list --operating-status live', ['opened']],
      ['list --operating-status-in dev,live', all],
      ['list --operating-status-in live,archived', ['opened']],
      ['list --visibility private', [...draft, 'shipped']],
      ['list --visibility public', ['opened']],
      ['list --review-status none', all],
      ['list --review-status approved', []],
      ['list --review-status-in none,approved', all],
      ['list --review-status-in approved,rejected', []],
      [`list --category-id ${category.slug}`, ['drafted']],
      [`list --category-id ${category.id} --status deployed`, []],
      ['search tool --status draft', ['drafted']],
      ['search tool --status-in draft,deployed', ['drafted', 'opened', 'shipped']],
      ['search tool --status-in deployed,archived', ['opened', 'shipped']],
      [`search tool --category ${category.slug}`, ['drafted']],
      ['search tool --visibility public', ['opened']],
      ['discover', ['opened']],
      ['discover --q tool --created-within-days 1', ['opened']],
      [`discover --category ${category.slug}`, []],
    ] as const)
      expect([line, await find(owner, ...line.split(' '))]).toEqual([line, [...expected].sort()]);
    const another = svcFor(server, { token: own.people.M.token, tenant });
    expect([await find(another, 'discover'), await find(another, 'list')]).toEqual([['opened'], ['opened']]);
  });

  test('refuse values out of range before any request, and an invalid cursor after it', async () => {
    for (const line of [
      ['apps', 'discover', '--created-within-days', '0'],
      ['apps', 'discover', '--created-within-days', '3651'],
      ['apps', 'list', '--per-page', '201'],
      ['apps', 'list', '--operating-status', 'gone'],
      ['apps', 'list', '--all', '--page', '2'],
      ['apps', 'search'],
      ['apps', 'check-availability'],
    ])
      expect([line, (await svc(line)).code]).toEqual([line, 2]);
    expect(await refusal(svc, 'apps', 'search', 'x', '--cursor', 'nonsense')).toEqual([7, 'invalid_cursor']);
  });

  test('check-availability suggests available names', async () => {
    const slug = unique('avail');
    await jsonOutput(svc, 'apps', 'create', '--slug', slug, '--execute');
    const checked = await jsonOutput(svc, 'apps', 'check-availability', '--slug', slug, '--subdomain', slug);
    expect([checked.available, checked.slug.reason, checked.subdomain.reason]).toEqual([
      false,
      'taken',
      'taken',
    ]);
    const [free] = checked.slug.suggestions;
    expect((await jsonOutput(svc, 'apps', 'check-availability', '--slug', free)).available).toBeTrue();
  });
});
