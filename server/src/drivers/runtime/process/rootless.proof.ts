import { expect, test } from 'bun:test';
import { chownSync } from 'node:fs';
import { resolve } from 'node:path';
import { temporaryFolder } from '../../database/testing.ts';

const repository = resolve(import.meta.dir, '../../../../..');
const userId = 64_321;
const files = [
  'process.proof.ts',
  'isolation.proof.ts',
  'containment.slice.test.ts',
  'hostile.slice.test.ts',
  'crash.slice.test.ts',
].map((name) => `server/src/drivers/runtime/process/${name}`);
/** Fewer mean that a file was not found: with several names, Bun ignores one without a file. */
const testsMin = 40;

/** The repository may be below a folder that only root can enter. On some machines only root can open the tun device. */
const asUser = `mount --bind "$1" /mnt && mount -t tmpfs svc /media && mknod -m 666 /media/tun c 10 200 &&
  mount --bind /media/tun /dev/net/tun && cd /mnt && shift &&
  exec setpriv --reuid ${userId} --regid ${userId} --clear-groups -- "$@"`;

test.if(process.getuid?.() === 0)('a server of an ordinary user isolates apps in the same way', async () => {
  const folder = temporaryFolder();
  chownSync(folder.path, userId, userId);
  const bun = process.execPath.replace(repository, '/mnt');
  const child = Bun.spawn(
    [
      'unshare',
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      asUser,
      'sh',
      repository,
      bun,
      'test',
      '--timeout=240000',
      ...files.map((file) => `./${file}`),
    ],
    {
      cwd: '/',
      env: {
        PATH: process.env.PATH,
        HOME: folder.path,
        TMPDIR: folder.path,
        SVC_TEST_FOLDER: folder.path,
        NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
      },
      stdout: 'ignore',
      stderr: 'pipe',
    },
  );
  const report = await new Response(child.stderr).text();
  expect([await child.exited, report.match(/^\(fail\).*$/gm)]).toEqual([0, null]);
  expect(Number(/^ (\d+) pass$/m.exec(report)?.[1])).toBeGreaterThanOrEqual(testsMin);
  await folder.remove();
});
