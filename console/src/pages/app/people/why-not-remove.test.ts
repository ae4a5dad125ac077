import { expect, test } from 'bun:test';
import { whyNotRemove } from './why-not-remove.ts';

const carl = { role: 'co_owner', user_id: 'carl' } as const;
const mia = { role: 'member', user_id: 'mia' } as const;
const owner = { id: 'olga', role: 'tenant_member', relation: 'owner' } as const;
const coOwner = { id: 'carl', role: 'tenant_member', relation: 'co_owner' } as const;
const otherCoOwner = { ...coOwner, id: 'cora' };
const admin = { id: 'ada', role: 'tenant_admin', relation: 'none' } as const;

test('a co-owner is removed by the owner, by an admin or by themself, and by no other co-owner', () => {
  for (const one of [owner, admin, coOwner]) expect(whyNotRemove(carl, one)).toBeNull();
  expect(whyNotRemove(carl, otherCoOwner)).toBe('Only its owner and tenant admins may do this.');
});

test('who is invited is removed by every owner and by admins', () => {
  for (const one of [owner, coOwner, admin]) expect(whyNotRemove(mia, one)).toBeNull();
});

test('nobody removes the owner', () => {
  for (const one of [owner, admin, coOwner])
    expect(whyNotRemove({ role: 'owner', user_id: 'olga' }, one)).toContain('handing');
});
