import { expect, test } from 'bun:test';
import { visibilities } from '@svc/contract/apps.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import {
  isAppRef,
  mayRemoveCoOwner,
  mayRemoveMember,
  ownerObstacle,
  type Relation,
  reaches,
} from './rules.ts';

test('owners and admins see an app whatever its visibility, other members only one that is open', () => {
  const seen = (relation: Relation, role: 'tenant_member' | 'tenant_admin') =>
    visibilities.filter((visibility) => reaches(visibility, relation, role));
  for (const relation of ['owner', 'co_owner'] as const)
    expect(seen(relation, 'tenant_member')).toEqual([...visibilities]);
  expect(seen('none', 'tenant_admin')).toEqual([...visibilities]);
  expect(seen('none', 'tenant_member')).toEqual(['public', 'internet']);
});

test('a co-owner removes themself, the owner and an admin remove anybody', () => {
  const person = { userId: 'me', isOwner: false, role: 'tenant_member' } as const;
  expect(mayRemoveCoOwner(person, 'me')).toBe(true);
  expect(mayRemoveCoOwner(person, 'other')).toBe(false);
  expect(mayRemoveCoOwner({ ...person, isOwner: true }, 'other')).toBe(true);
  expect(mayRemoveCoOwner({ ...person, role: 'tenant_admin' }, 'other')).toBe(true);
});

test('who is invited sees the app while it is for invited people, and leaves it by themself', () => {
  const seen = visibilities.filter((visibility) => reaches(visibility, 'member', 'tenant_member'));
  expect(seen).toEqual(['invite_only', 'public', 'internet']);
  const person = { userId: 'me', relation: 'member', role: 'tenant_member' } as const;
  expect(mayRemoveMember(person, 'me')).toBe(true);
  expect(mayRemoveMember(person, 'other')).toBe(false);
  for (const relation of ['owner', 'co_owner'] as const)
    expect(mayRemoveMember({ ...person, relation }, 'other')).toBe(true);
  expect(mayRemoveMember({ ...person, role: 'tenant_admin' }, 'other')).toBe(true);
});

test('an owner is kept from handing over by a suspension, or by not being a member any more', () => {
  expect(ownerObstacle({ status: 'active' })).toBeNull();
  expect(ownerObstacle({ status: 'suspended' })).toBe('suspended');
  expect(ownerObstacle(null)).toBe('not_a_member');
});

test('an app is named by an id or a slug, and by nothing else', () => {
  const id = Bun.randomUUIDv7();
  for (const ref of ['shop', id, id.toUpperCase()]) expect([ref, isAppRef(ref)]).toEqual([ref, true]);
  for (const ref of ['', 'Shop', 'a', '-shop', 'shop-', 'a b', 'x'.repeat(64), 'shop\0'])
    expect([ref, isAppRef(ref)]).toEqual([ref, false]);
});

test('a slug is made from a name, unless nothing usable is left or it could be taken for an id', () => {
  expect(slugFromName('Sales DB (EU)')).toBe('sales-db-eu');
  expect(slugFromName('Crème Brûlée')).toBe('creme-brulee');
  expect(slugFromName(`${'a'.repeat(62)} b`)).toBe('a'.repeat(62));
  for (const name of ['商店', '42', 'x', 'abcdef01-0000-7000-8000-000000000000'])
    expect([name, slugFromName(name)]).toEqual([name, null]);
});
