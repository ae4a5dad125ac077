import { expect, test } from 'bun:test';
import { chmodSync, lchownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { chooseGitUser } from './git-user.ts';
import { changeDataDirOwner } from './server-user.ts';

const serverUser = { uid: 64_999, gid: 64_999 };

/** A data dir whose repositories are behind a link, and the reasons for which git got no user. */
function newDataDir(linkOwner: number) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-git-user-'));
  chmodSync(folder, 0o755);
  const [dataDir, elsewhere] = [join(folder, 'data'), join(folder, 'elsewhere')];
  for (const path of [dataDir, elsewhere]) mkdirSync(path);
  const link = join(dataDir, 'git');
  symlinkSync(elsewhere, link);
  lchownSync(link, linkOwner, linkOwner);
  const warnings: { reason: string }[] = [];
  const log = { warn: (fields: { reason: string }) => warnings.push(fields) } as unknown as Logger;
  return {
    choose: () => chooseGitUser(dataDir, log),
    changeOwner: () => changeDataDirOwner(dataDir, serverUser),
    owner: () => statSync(elsewhere).uid,
    warnings,
    remove: () => rmSync(folder, { recursive: true }),
  };
}

const isRoot = process.getuid?.() === 0 && process.platform === 'linux';

test.if(isRoot)('a link that the server could have made gives git no folder of the machine', () => {
  const data = newDataDir(serverUser.uid);
  expect(data.choose()).toBeNull();
  expect(data.warnings).toMatchObject([{ reason: expect.stringContaining('a link that root did not make') }]);
  expect(data.owner()).toBe(0);
  data.remove();
});

test.if(isRoot)('a link of root leads to the folder of git, also after the server got its data dir', () => {
  const data = newDataDir(0);
  data.changeOwner();
  const user = data.choose();
  expect(user).not.toBeNull();
  expect(data.owner()).toBe(user!.uid);
  data.remove();
});
