import { beforeAll, expect, test } from 'bun:test';
import { setApp } from './support/app-runtime.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let asAdmin: Svc;
let asOwner: Svc;
let asMember: Svc;
beforeAll(async () => {
  world = await newWorld();
  const { server, slug: tenant } = world.tenant;
  [asAdmin, asOwner, asMember] = (['A', 'O', 'M'] as const).map((letter) =>
    svcFor(server, { token: world.people[letter].token, tenant }),
  ) as [Svc, Svc, Svc];
});

// biome-ignore lint/suspicious/noExplicitAny: answers of all shapes.
async function answer(who: Svc, ...args: string[]): Promise<any> {
  const ran = await who([...args, '--json']);
  expect([args.join(' '), ran.code, ran.stderr]).toEqual([args.join(' '), 0, '']);
  return ran.json();
}

test('svc tenants update previews, warns of apps above the tier, changes, and refuses who is no admin', async () => {
  await setApp(world.tenant.server, world.app.id, { tier: 'L' });
  const line = ['tenants', 'update', '--name', 'Acme Ltd', '--max-resource-tier', 'M'];
  const { plan } = await answer(asAdmin, ...line);
  expect(plan.operation).toBe('tenants.update');
  expect(plan.changes.map(({ path }: { path: string }) => path).sort()).toEqual([
    'max_resource_tier',
    'name',
  ]);
  expect(plan.warnings).toEqual(['1 app has a tier above it and keeps it, until another is chosen.']);
  expect(await answer(asAdmin, 'tenants', 'get')).toMatchObject({ max_resource_tier: 'L' });

  const done = await answer(asAdmin, ...line, '--execute', '--plan', plan.fingerprint);
  expect(done).toMatchObject({ name: 'Acme Ltd', max_resource_tier: 'M', role: 'tenant_admin' });
  expect(await answer(asMember, 'tenants', 'get')).toMatchObject({ name: 'Acme Ltd', role: 'tenant_member' });
  expect(await answer(asAdmin, ...line, '--execute')).toEqual({ ...done, changed: false });
  expect((await asMember([...line, '--execute'])).code).toBe(4);
  expect((await asAdmin(['tenants', 'update'])).code).toBe(2);
  expect((await asAdmin(['tenants', 'update', '--name', ' ', '--execute'])).code).toBe(7);
});

test('svc audit list --app shows an owner what was changed of the app, and nobody else', async () => {
  const { slug } = world.app;
  await answer(asOwner, 'apps', 'update', slug, '--summary', 'Everything for pets', '--execute');
  const list = (who: Svc, ...more: string[]) => answer(who, 'audit', 'list', '--app', slug, ...more);
  const { items } = await list(asOwner);
  expect(items[0]).toMatchObject({ action: 'apps.update', target: { kind: 'app', name: slug } });
  const whole = await list(asAdmin, '--all', '--per-page', '1');
  expect(whole).toEqual({ items, next_cursor: null });
  expect((await list(asOwner, '--action', 'members.set')).items).toEqual([]);

  expect((await asMember(['audit', 'list', '--app', slug])).code).toBe(5);
  expect((await asOwner(['audit', 'list'])).code).toBe(4);
  const all = await answer(asAdmin, 'audit', 'list', '--all');
  expect(all.items.length).toBeGreaterThan(items.length);
});

test('svc apps get says what one is to the app', async () => {
  const relation = async (who: Svc) => (await answer(who, 'apps', 'get', world.app.slug)).relation;
  expect([await relation(asOwner), await relation(asAdmin)]).toEqual(['owner', 'none']);
  expect((await asOwner(['apps', 'get', world.app.slug])).stdout).toMatch(/^you are +its owner$/m);
});
