import { expect, test } from 'bun:test';
import type { GitHost, GitHostUser, TreeEntry } from '../../drivers/git/git-host.ts';
import { codeOf, newTenant, silentLog, useTestDatabase } from '../../testing.ts';
import type { GitDeps } from '../git-connections/rules.ts';
import { detectRepository } from './detect-repository.ts';

const database = useTestDatabase();

/** A host with one repository and this listing of its files. */
function hostWith(listed: { entries: TreeEntry[]; isWhole: boolean }): GitHost {
  const user: Partial<GitHostUser> = {
    repository: async () => ({
      id: 1,
      owner: 'o',
      name: 'r',
      isPrivate: true,
      isEmpty: false,
      defaultBranch: 'main',
      canPush: true,
      description: '',
      webUrl: '',
      cloneUrl: '',
    }),
    commit: async () => ({ sha: 'a'.repeat(40), message: '', treeSha: 'b'.repeat(40) }),
    tree: async () => listed,
    readFile: async () => '<h1>Hello</h1>',
  };
  return { isBuiltIn: true, webUrl: '', asUser: () => user } as unknown as GitHost;
}

async function detect(listed: { entries: TreeEntry[]; isWhole: boolean }, path?: string) {
  const { tenant, member } = await newTenant(database.db);
  const parts: GitDeps = { db: database.db, gitHost: hostWith(listed), baseUrl: '', now: () => new Date() };
  const ctx = { db: database.db, tenant, caller: member, now: new Date(), requestId: 'test', log: silentLog };
  return detectRepository(ctx, { repo: 'o/r', path }, parts);
}

const page: TreeEntry = { path: 'index.html', kind: 'file', bytes: 14 };
const cut = (file: string) => ({ file, says: 'has more files than the git host lists' });

test('a folder missing from an incomplete list is reported as possibly existing', async () => {
  expect(await codeOf(detect({ entries: [page], isWhole: true }, 'web'))).toBe('not_found');
  const { evidence, language } = await detect({ entries: [page], isWhole: false }, 'web');
  expect([language, evidence]).toEqual(['unknown', [cut('web')]]);
});

test('findings in an incomplete list are marked as such', async () => {
  const whole = await detect({ entries: [page], isWhole: true });
  expect(await detect({ entries: [page], isWhole: false })).toEqual({
    ...whole,
    evidence: [...whole.evidence, cut('.')],
  });
});
