import { describe, expect, test } from 'bun:test';
import { reviewedState, whyNotApprove, whyNotReject, whyNotWithdraw } from './rules.ts';

const open = { status: 'pending', requested_by: 'olga' };
const admin = { id: 'ada', role: 'tenant_admin', relation: 'none' } as const;
const owner = { id: 'olga', role: 'tenant_member', relation: 'owner' } as const;
const coOwner = { id: 'carl', role: 'tenant_member', relation: 'co_owner' } as const;

describe('who decides on a publication request', () => {
  test('another admin may approve or reject, not withdraw', () => {
    expect(whyNotApprove(open, admin, null)).toBeNull();
    expect(whyNotReject(open, admin)).toBeNull();
    expect(whyNotWithdraw(open, admin)).toContain('reject it');
  });

  test('the requester may only withdraw', () => {
    expect(whyNotApprove(open, owner, null)).toContain('You made this request');
    expect(whyNotReject(open, owner)).toContain('Withdraw it instead');
    expect(whyNotWithdraw(open, owner)).toBeNull();
  });

  test('an admin who made the request sees the error of the server', () => {
    const asking = { ...admin, id: 'olga' };
    expect(whyNotApprove(open, asking, 'Somebody else must decide.')).toBe('Somebody else must decide.');
    expect(whyNotApprove(open, asking, null)).toBeNull();
  });

  test('another owner may reject or withdraw, not approve', () => {
    expect(whyNotReject(open, coOwner)).toBeNull();
    expect(whyNotWithdraw(open, coOwner)).toBeNull();
    expect(whyNotApprove(open, coOwner, null)).toBe('Only tenant admins may do this.');
  });

  test('a closed request cannot be decided', () => {
    const settled = { ...open, status: 'rejected' };
    for (const why of [
      whyNotApprove(settled, admin, null),
      whyNotReject(settled, admin),
      whyNotWithdraw(settled, owner),
    ])
      expect(why).toContain('already rejected');
  });
});

describe('the state of the reviewed version', () => {
  const site = { active_release: { id: 'one' }, staged_release: { id: 'two' } };
  const release = (release_id: string) => ({ release_id, deployment_id: null });

  test('a release is live, staged or gone by the pointers of the site', () => {
    expect(reviewedState(release('one'), { site })).toBe('live');
    expect(reviewedState(release('two'), { site })).toBe('staged');
    expect(reviewedState(release('three'), { site })).toBe('gone');
    expect(reviewedState(release('one'), {})).toBeNull();
  });

  test('a deployment is live by its state', () => {
    const pinned = { release_id: null, deployment_id: 'd' };
    expect(reviewedState(pinned, { deployment: { id: 'd', state: 'live' } })).toBe('live');
    expect(reviewedState(pinned, { deployment: { id: 'd', state: 'superseded' } })).toBe('gone');
    expect(reviewedState(pinned, {})).toBeNull();
  });
});
