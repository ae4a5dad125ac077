import { describe, expect, test } from 'bun:test';
import { commitText, versionText, whyNotApprove, whyNotReject, whyNotWithdraw } from './rules.ts';

const open = { status: 'pending', requested_by: 'olga' };
const admin = { id: 'ada', role: 'tenant_admin', relation: 'none' } as const;
const owner = { id: 'olga', role: 'tenant_member', relation: 'owner' } as const;
const coOwner = { id: 'carl', role: 'tenant_member', relation: 'co_owner' } as const;

describe('who decides on a request', () => {
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

describe('the version under review', () => {
  const version = {
    deployment_id: 'd',
    deployment: 7,
    release_id: null,
    release: null,
    version: '',
    commit_sha: 'b'.repeat(40),
    commit_message: 'New prices',
    created_at: '2026-11-17T00:00:00Z',
  };
  const diff = {
    audience: { before: 'public', after: 'public', invited: 0 },
    files: null,
    tables: null,
  } as const;

  test('is named by its numbers, and by the range of commits', () => {
    expect(versionText(version)).toBe('deployment #7');
    expect(versionText({ ...version, release: 3, version: 'v3' })).toBe('deployment #7, release #3, v3');
    expect(versionText(null)).toBe('nothing');
    const before = { ...version, commit_sha: 'a'.repeat(40) };
    expect(commitText({ ...diff, before, after: version })).toBe('aaaaaaaaaaaa..bbbbbbbbbbbb');
    expect(commitText({ ...diff, before: null, after: version })).toBe('bbbbbbbbbbbb');
    expect(commitText({ ...diff, before, after: { ...version, commit_sha: null } })).toBeNull();
  });
});
