import { beforeAll, expect, test } from 'bun:test';
import { jsonOutput, type Svc, svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
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

test('svc tenants update previews, warns of apps above the tier, changes, and is for admins only', async () => {
  await setApp(world.tenant.server, world.app.id, { resource_preset: 'L' });
  const line = ['tenants', 'update', '--name', 'Acme Ltd', '--max-resource-tier', 'M'];
  const { plan } = await jsonOutput(asAdmin, ...line);
  expect(plan.operation).toBe('tenants.update');
  expect(plan.changes.map(({ path }: { path: string }) => path).sort()).toEqual([
    'max_resource_tier',
    'name',
  ]);
  expect(plan.warnings).toEqual(['1 app has a higher tier and keeps it until its tier is changed.']);
  expect(await jsonOutput(asAdmin, 'tenants', 'get')).toMatchObject({ max_resource_tier: 'L' });

  const done = await jsonOutput(asAdmin, ...line, '--execute', '--plan', plan.fingerprint);
  expect(done).toMatchObject({ name: 'Acme Ltd', max_resource_tier: 'M', role: 'tenant_admin' });
  expect(await jsonOutput(asMember, 'tenants', 'get')).toMatchObject({
    name: 'Acme Ltd',
    role: 'tenant_member',
  });
  expect(await jsonOutput(asAdmin, ...line, '--execute')).toEqual({ ...done, changed: false });
  expect((await asMember([...line, '--execute'])).code).toBe(4);
  expect((await asAdmin(['tenants', 'update'])).code).toBe(2);
  expect((await asAdmin(['tenants', 'update', '--name', ' ', '--execute'])).code).toBe(7);
});

test('svc members set gives a member attributes, and removes one with an empty value', async () => {
  const { email } = world.people.M;
  const set = (...pairs: string[]) => [
    'members',
    'set',
    email,
    ...pairs.flatMap((pair) => ['--attribute', pair]),
  ];
  const { plan } = await jsonOutput(asAdmin, ...set('region=eu', 'team=a=b'));
  expect(plan.operation).toBe('members.update');
  expect((await jsonOutput(asAdmin, 'members', 'get', email)).attributes).toEqual({});
  await jsonOutput(asAdmin, ...set('region=eu', 'team=a=b'), '--execute');
  expect((await jsonOutput(asAdmin, ...set('region='), '--execute')).attributes).toEqual({ team: 'a=b' });
  expect((await asAdmin(['members', 'list', '--all'])).stdout).toContain('team=a=b');
  expect((await asAdmin([...set('region'), '--execute'])).code).toBe(2);
  expect((await asAdmin(['members', 'set', email, '--execute'])).code).toBe(2);
  expect((await asMember([...set('region=eu'), '--execute'])).code).toBe(4);
});

test('svc audit list --app shows changes of the app to its owners only', async () => {
  const { slug } = world.app;
  await jsonOutput(asOwner, 'apps', 'update', slug, '--summary', 'Everything for pets', '--execute');
  const list = (who: Svc, ...more: string[]) => jsonOutput(who, 'audit', 'list', '--app', slug, ...more);
  const { items } = await list(asOwner);
  expect(items[0]).toMatchObject({ action: 'apps.update', target: { kind: 'app', name: slug } });
  const whole = await list(asAdmin, '--all', '--per-page', '1');
  expect(whole).toEqual({ items, next_cursor: null });
  expect((await list(asOwner, '--action', 'members.set')).items).toEqual([]);

  expect((await asMember(['audit', 'list', '--app', slug])).code).toBe(5);
  expect((await asOwner(['audit', 'list'])).code).toBe(4);
  const all = await jsonOutput(asAdmin, 'audit', 'list', '--all');
  expect(all.items.length).toBeGreaterThan(items.length);
});

test("svc apps get prints the caller's role in the app", async () => {
  const relation = async (who: Svc) => (await jsonOutput(who, 'apps', 'get', world.app.slug)).relation;
  expect([await relation(asOwner), await relation(asAdmin)]).toEqual(['owner', 'none']);
  expect((await asOwner(['apps', 'get', world.app.slug])).stdout).toMatch(/^you are +owner$/m);
});
