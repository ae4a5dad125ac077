import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from './database.ts';
import { useTemporaryFolder } from './hooks-testing.ts';
import { findRunningPostmaster } from './postmaster.ts';
import { accountName, chooseAccount } from './programs.ts';
import { copyStoppedDataDir, query, runServer } from './testing.ts';

const asRoot = process.getuid?.() === 0;
const nobody = 65534;
const dacOverride = 1n << 1n;

const folder = useTemporaryFolder();

function readProcessStatus(dataDir: string): { uid: number; capabilities: bigint; groups: string } {
  const status = readFileSync(`/proc/${findRunningPostmaster(join(dataDir, 'postgres'))}/status`, 'utf8');
  const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1]?.trim() ?? '';
  return {
    uid: Number(field('Uid').split('\t')[0]),
    capabilities: BigInt(`0x${field('CapEff')}`),
    groups: field('Groups'),
  };
}

test.if(asRoot)('root runs PostgreSQL as a system user without capabilities', async () => {
  const dataDir = join(folder.path, 'by-root');
  const database = await openDatabase({ dataDir, log: () => {} });
  const uid = Number(spawnSync('id', ['-u', accountName], { encoding: 'utf8' }).stdout);
  expect(uid).toBeGreaterThan(0);
  expect(readProcessStatus(dataDir)).toEqual({ uid, capabilities: 0n, groups: '' });
  expect(lstatSync(join(dataDir, 'postgres')).uid).toBe(uid);
  await database.stop();
});

test.if(asRoot).each([
  ['', 'data'],
  ['that is the data dir itself', ''],
])('root runs PostgreSQL below a closed folder %s without capabilities', async (_, name) => {
  const closed = join(folder.path, `closed-${name}`);
  mkdirSync(closed, { mode: 0o700 });
  const dataDir = join(closed, name);
  for (const start of ['first', 'again']) {
    const database = await openDatabase({ dataDir, log: () => {} });
    expect([start, readProcessStatus(dataDir)]).toEqual([
      start,
      { uid: lstatSync(join(dataDir, 'postgres')).uid, capabilities: 0n, groups: '' },
    ]);
    await query(database.controlUrl, 'select 1');
    await database.stop();
  }
});

test.if(asRoot)(
  'without a mount namespace a closed folder costs CAP_DAC_OVERRIDE, and without setpriv it is an error that names it',
  () => {
    const closed = join(folder.path, 'closed-too');
    mkdirSync(closed, { mode: 0o700 });
    const options = { cluster: join(closed, 'postgres'), mustEnter: [closed] };
    const capabilitiesOf = (programs: { setpriv: string; unshare: string }) => {
      const { command } = chooseAccount({ ...options, programs });
      const { program, args } = command('/bin/grep', ['CapEff', '/proc/self/status']);
      return BigInt(`0x${spawnSync(program, args, { encoding: 'utf8' }).stdout.split(/\s+/)[1]}`);
    };
    const [setpriv, unshare, missing] = ['setpriv', 'unshare', '/nonexistent/program'];
    expect(capabilitiesOf({ setpriv, unshare })).toBe(0n);
    expect(capabilitiesOf({ setpriv, unshare: missing })).toBe(dacOverride);
    let thrown: unknown;
    try {
      capabilitiesOf({ setpriv: missing, unshare });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toHaveProperty('code', 'no_setpriv');
    expect(thrown).toHaveProperty('message', expect.stringContaining(`chmod o+x ${closed}`));
    chmodSync(closed, 0o711);
    expect(chooseAccount(options).isOtherUser).toBeTrue();
  },
);

test.if(asRoot)(
  'PostgreSQL always runs as the owner of the cluster, also when another user starts the server',
  async () => {
    const home = join(folder.path, 'home');
    mkdirSync(home, { mode: 0o700 });
    chownSync(home, nobody, nobody);
    const dataDir = join(home, 'data');
    const asNobody = async () => {
      const user = runServer(dataDir, { uid: nobody, gid: nobody });
      try {
        await query(await user.line(), 'select 1');
        expect(readProcessStatus(dataDir)).toMatchObject({ uid: nobody, capabilities: 0n });
        user.child.stdin?.end();
        expect(await user.ended).toEqual({ code: 0, errors: '' });
      } finally {
        user.child.kill('SIGKILL');
      }
    };
    await asNobody();
    const database = await openDatabase({ dataDir, log: () => {} });
    expect(readProcessStatus(dataDir).uid).toBe(nobody);
    await database.stop();
    await asNobody();
  },
);

test.if(asRoot)('an ordinary user cannot use the data dir or the cluster of another user', async () => {
  const dataDir = await copyStoppedDataDir(join(folder.path, 'of-another'));
  const closed = runServer(dataDir, { uid: nobody, gid: nobody });
  expect((await closed.ended).errors).toContain('foreign_owner');
  chownSync(dataDir, nobody, nobody);
  const user = runServer(dataDir, { uid: nobody, gid: nobody });
  expect((await user.ended).errors).toContain('foreign_owner');
});

test.if(asRoot)('a cluster that root copied is given back to the user of PostgreSQL', async () => {
  const from = await copyStoppedDataDir(join(folder.path, 'original'));
  const to = join(folder.path, 'copy');
  expect(spawnSync('cp', ['-r', '--preserve=mode', from, to]).status).toBe(0);
  expect(lstatSync(join(to, 'postgres')).uid).toBe(0);
  const database = await openDatabase({ dataDir: to, log: () => {} });
  await query(database.controlUrl, 'select 1');
  await database.stop();
});
