import { expect, test } from 'bun:test';
import { visibilities } from '@svc/contract/apps.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { isAppRef, isVisibleTo, ownerObstacle, type Relation } from './rules.ts';

test('owners and admins see every app, other members only open ones', () => {
  const seen = (relation: Relation, role: 'tenant_member' | 'tenant_admin') =>
    visibilities.filter((visibility) => isVisibleTo(visibility, relation, role));
  for (const relation of ['owner', 'co_owner'] as const)
    expect(seen(relation, 'tenant_member')).toEqual([...visibilities]);
  expect(seen('none', 'tenant_admin')).toEqual([...visibilities]);
  expect(seen('none', 'tenant_member')).toEqual(['public', 'internet']);
});

test('invited members see apps that are invite-only or open, and no private ones', () => {
  const seen = visibilities.filter((visibility) => isVisibleTo(visibility, 'member', 'tenant_member'));
  expect(seen).toEqual(['invite_only', 'public', 'internet']);
});

test('an owner cannot transfer when suspended or no longer a member', () => {
  expect(ownerObstacle({ status: 'active' })).toBeNull();
  expect(ownerObstacle({ status: 'suspended' })).toBe('suspended');
  expect(ownerObstacle(null)).toBe('not_a_member');
});

test('an app reference is an id or a slug', () => {
  const id = Bun.randomUUIDv7();
  for (const ref of ['shop', id, id.toUpperCase()]) expect([ref, isAppRef(ref)]).toEqual([ref, true]);
  for (const ref of ['', 'Shop', 'a', '-shop', 'shop-', 'a b', 'x'.repeat(64), 'shop\0'])
    expect([ref, isAppRef(ref)]).toEqual([ref, false]);
});

test('a slug is derived from a name, unless nothing usable is left or it looks like an id', () => {
  expect(slugFromName('Sales DB (EU)')).toBe('sales-db-eu');
  expect(slugFromName('Crème Brûlée')).toBe('creme-brulee');
  expect(slugFromName(`${'a'.repeat(62)} b`)).toBe('a'.repeat(62));
  for (const name of ['商店', '42', 'x', 'abcdef01-0000-7000-8000-000000000000'])
    expect([name, slugFromName(name)]).toEqual([name, null]);
});
