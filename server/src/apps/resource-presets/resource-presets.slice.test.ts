import { expect, test } from 'bun:test';
import { resourceTiers } from '@svc/contract/limits.ts';
import { resourcesOf } from '@svc/contract/resource-presets.ts';
import { sql } from 'kysely';
import { loginHeaders, peopleRoutes, startServerCopy, useServer } from '../../identity/provider/testing.ts';
import { newTenant } from '../../testing.ts';
import { resourcePresetRoutes } from '../routes.ts';

const { database, server } = useServer((database) =>
  startServerCopy(database, undefined, [...peopleRoutes, ...resourcePresetRoutes]),
);

test.each([...resourceTiers])('with %s as maximum, it and smaller tiers are allowed', async (max) => {
  const { tenant, member } = await newTenant(database.db);
  await sql`update svc.tenants set max_resource_tier = ${max} where id = ${tenant.id}`.execute(database.db);
  const login = await loginHeaders(database, member);
  const { status, body } = await server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}/resource-presets`);
  expect([status, body.total]).toEqual([200, 5]);
  const allowed = body.items.filter((item: { allowed: boolean }) => item.allowed);
  expect(allowed.map(({ name }: { name: string }) => name)).toEqual(
    resourceTiers.slice(0, resourceTiers.indexOf(max) + 1),
  );
  const defaults = body.items.filter((item: { default: boolean }) => item.default);
  expect(defaults).toMatchObject([{ name: max === 'XS' ? 'XS' : 'S', allowed: true }]);
});

test('each tier gives more than the one before', () => {
  const given = resourceTiers.map((tier) => resourcesOf[tier]);
  for (const [at, { cpu, memory_mb }] of given.slice(1).entries()) {
    expect(cpu).toBeGreaterThan(given[at]!.cpu);
    expect(memory_mb).toBeGreaterThan(given[at]!.memory_mb);
  }
});
