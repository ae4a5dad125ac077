import { afterAll, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { newFolder, removeFolders } from '../../testing/run-svc.ts';
import { changeConfig, changeCredentials, withLock } from './profile-store.ts';

afterAll(removeFolders);

const login = { base_url: 'http://x', access_token: 'secret', expires_at: '2030-01-01T00:00:00Z' };
const never = new AbortController().signal;
const save = (dir: string, profile = 'default') =>
  withLock(dir, never, () =>
    changeCredentials(dir, (credentials) => {
      credentials.profiles[profile] = login;
    }),
  );

describe('writing', () => {
  test('creates the folder and a file that only its owner can read', async () => {
    const dir = join(newFolder(), 'deep/er');
    await save(dir);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, 'credentials.json')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['credentials.json']);
  });

  test('restricts a file that others could read', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'credentials.json'), '{}', { mode: 0o644 });
    await save(dir);
    expect(statSync(join(dir, 'credentials.json')).mode & 0o777).toBe(0o600);
  });

  test('does not follow a link, and leaves its target alone', async () => {
    const dir = newFolder();
    const target = join(newFolder(), 'victim');
    writeFileSync(target, '{"profiles":{}}');
    symlinkSync(target, join(dir, 'credentials.json'));
    expect(await save(dir).catch((cause) => cause)).toMatchObject({ code: 'config_not_writable' });
    expect(readFileSync(target, 'utf8')).toBe('{"profiles":{}}');
    expect(readdirSync(dir)).toEqual(['credentials.json']);
  });

  test('keeps other profiles and unknown fields', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'config.json'), '{"later":[1],"profiles":{"other":{"base_url":"http://o"}}}');
    await withLock(dir, never, () =>
      changeConfig(dir, (config) => {
        config.profiles.mine = { base_url: 'http://m' };
      }),
    );
    expect(JSON.parse(readFileSync(join(dir, 'config.json'), 'utf8'))).toEqual({
      later: [1],
      profiles: { other: { base_url: 'http://o' }, mine: { base_url: 'http://m' } },
    });
  });

  test('explains what to do if it cannot write', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    for (const dir of [join(file, 'below'), '/proc/svc']) {
      const error = await save(dir).catch((cause) => cause);
      expect(error).toMatchObject({ code: 'config_not_writable' });
      expect(error.next).toContain('SVC_CONFIG_DIR');
    }
  });

  test('fails if the file is a folder', async () => {
    const dir = newFolder();
    mkdirSync(join(dir, 'credentials.json'));
    expect((await save(dir).catch((cause) => cause)).code).toStartWith('config_');
  });
});

describe('the lock', () => {
  test('admits one process at a time, and loses no change', async () => {
    const dir = newFolder();
    let inside = 0;
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        withLock(dir, never, async () => {
          inside += 1;
          expect(inside).toBe(1);
          await changeCredentials(dir, (credentials) => {
            credentials.profiles[`p${at}`] = login;
          });
          inside -= 1;
        }),
      ),
    );
    const { profiles } = JSON.parse(readFileSync(join(dir, 'credentials.json'), 'utf8'));
    expect(Object.keys(profiles)).toHaveLength(20);
    expect(existsSync(join(dir, 'svc.lock'))).toBe(false);
  });

  test('is released when the work fails', async () => {
    const dir = newFolder();
    await withLock(dir, never, () => Promise.reject(new Error('no'))).catch(() => undefined);
    expect(existsSync(join(dir, 'svc.lock'))).toBe(false);
  });

  test('is not waited for longer than the command may take', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'svc.lock'), '1 elsewhere x\n');
    const late = withLock(dir, AbortSignal.timeout(60), async () => 'in');
    expect((await late.catch((cause) => cause)).name).toBe('TimeoutError');
  });

  test('of a process that has ended, or that is too old, is taken over', async () => {
    const { hostname } = await import('node:os');
    const dead = newFolder();
    writeFileSync(join(dead, 'svc.lock'), `999999999 ${hostname()} x\n`);
    await save(dead);
    const old = newFolder();
    writeFileSync(join(old, 'svc.lock'), '1 elsewhere x\n');
    utimesSync(join(old, 'svc.lock'), new Date(0), new Date(0));
    await save(old);
    expect(readdirSync(old)).toEqual(['credentials.json']);
  });
});
