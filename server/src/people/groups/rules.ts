import type { Group, GroupMember } from '@svc/contract/groups.shapes.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import { fail } from '../../core/problem.ts';
import type { CountedGroupRow, GroupMemberRow, GroupRow } from './store.ts';

export type GroupRecord = z.output<typeof Group>;

export function groupRecord(row: CountedGroupRow): GroupRecord {
  return {
    ...row,
    external_id: row.external_id ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function groupMemberRecord({ since, ...row }: GroupMemberRow): z.output<typeof GroupMember> {
  return { ...row, since: since.toISOString() };
}

export function requireLocal({ name, source }: Pick<GroupRow, 'name' | 'source'>): void {
  if (source === 'local') return;
  const by = source === 'scim' ? 'the directory (SCIM)' : 'a claim of the OpenID provider';
  throw fail('group_managed', { detail: `${name} is managed by ${by}; change its members there.` });
}

/** Names to try for a group that is named elsewhere: its own name as a slug, then with a number. */
export function* candidateNames(displayName: string): Generator<string> {
  const base = slugFromName(displayName) ?? slugFromName(`group ${displayName}`) ?? 'group';
  yield base;
  for (let number = 2; ; number++) yield `${base.slice(0, 57).replace(/-+$/, '')}-${number}`;
}
