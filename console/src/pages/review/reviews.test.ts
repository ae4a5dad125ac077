import { describe, expect, test } from 'bun:test';
import { placeOf } from './place-of.ts';
import { whyNotApprove, whyNotReject, whyNotWithdraw } from './why-not-decide.ts';

const open = { status: 'pending', requested_by: 'olga' };
const admin = { id: 'ada', role: 'tenant_admin', relation: 'none' } as const;
const owner = { id: 'olga', role: 'tenant_member', relation: 'owner' } as const;
const coOwner = { id: 'carl', role: 'tenant_member', relation: 'co_owner' } as const;

describe('who decides on a request to publish', () => {
  test('an admin who did not ask may approve or reject it, and not withdraw it', () => {
    expect(whyNotApprove(open, admin, null)).toBeNull();
    expect(whyNotReject(open, admin)).toBeNull();
    expect(whyNotWithdraw(open, admin)).toContain('reject it');
  });

  test('who asked may withdraw it alone, and reads why', () => {
    expect(whyNotApprove(open, owner, null)).toContain('You asked for it yourself');
    expect(whyNotReject(open, owner)).toContain('withdraw it instead');
    expect(whyNotWithdraw(open, owner)).toBeNull();
  });

  test('an admin who asked is told what the server says of it', () => {
    const asking = { ...admin, id: 'olga' };
    expect(whyNotApprove(open, asking, 'Somebody else must decide.')).toBe('Somebody else must decide.');
    expect(whyNotApprove(open, asking, null)).toBeNull();
  });

  test('another owner may reject or withdraw it, and not approve it', () => {
    expect(whyNotReject(open, coOwner)).toBeNull();
    expect(whyNotWithdraw(open, coOwner)).toBeNull();
    expect(whyNotApprove(open, coOwner, null)).toBe('Only tenant admins may do this.');
  });

  test('what is settled is nobody’s to decide', () => {
    const settled = { ...open, status: 'rejected' };
    for (const why of [
      whyNotApprove(settled, admin, null),
      whyNotReject(settled, admin),
      whyNotWithdraw(settled, owner),
    ])
      expect(why).toContain('rejected already');
  });
});

describe('where what is reviewed is now', () => {
  const site = { active_release: { id: 'one' }, staged_release: { id: 'two' } };
  const release = (release_id: string) => ({ release_id, deployment_id: null });

  test('a release is live, staged or gone by what the site points at', () => {
    expect(placeOf(release('one'), { site })).toBe('live');
    expect(placeOf(release('two'), { site })).toBe('staged');
    expect(placeOf(release('three'), { site })).toBe('gone');
    expect(placeOf(release('one'), {})).toBeNull();
  });

  test('a deployment is live by its own state', () => {
    const pinned = { release_id: null, deployment_id: 'd' };
    expect(placeOf(pinned, { deployment: { id: 'd', state: 'live' } })).toBe('live');
    expect(placeOf(pinned, { deployment: { id: 'd', state: 'superseded' } })).toBe('gone');
    expect(placeOf(pinned, {})).toBeNull();
  });
});
