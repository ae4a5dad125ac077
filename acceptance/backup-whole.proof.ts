import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { queryUrl } from './support/database.ts';
import { startEmbedded, temporaryFolder } from './support/server.ts';
import {
  backupFile,
  contentOf,
  expectSame,
  fillSystem,
  objectsOf,
  svcAdmin,
} from './support/whole-system.ts';

const quiet = { SVC_SEED: 'none' };

test('objects, a site and a raw database in the data dir are restored from one encrypted file onto an empty machine', async () => {
  const first = await startEmbedded({ env: quiet });
  const filled = await fillSystem(first);
  const [content, objects] = [await contentOf(filled.url), await objectsOf(first.env)];
  const identity = join(temporaryFolder(), 'identity.txt');
  const { generateIdentity, identityToRecipient } = await import('age-encryption');
  const secret = await generateIdentity();
  await Bun.write(identity, secret);
  const file = backupFile('whole.tar.gz.age');
  // While the server runs.
  const made = await svcAdmin(
    first.env,
    'backup',
    '--to',
    file,
    '--recipient',
    await identityToRecipient(secret),
  );
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(made.json<object>()).toMatchObject({
    encrypted: true,
    left_out: [],
    raw_databases: [{ rows: 4455, tables: 10 }],
    objects: { count: Object.keys(objects).length },
  });
  expect(readFileSync(file).subarray(0, 21).toString()).toBe('age-encryption.org/v1');
  const without = await svcAdmin(
    first.env,
    'backup',
    '--to',
    backupFile('less'),
    '--exclude',
    'objects,raw-databases',
  );
  expect(without.json<{ left_out: string[] }>().left_out).toEqual([
    expect.stringMatching(
      /^database svc_raw_\w+ of app \S+ \(\d+\.\d MiB\), because of --exclude raw-databases$/,
    ),
    expect.stringMatching(/^7 objects \(14\.1 MiB\), because of --exclude objects$/),
  ]);
  expect(await first.stop()).toBe(0);

  const env = { ...first.env, SVC_DATA_DIR: join(temporaryFolder(), 'data') };
  const restored = await svcAdmin(env, 'restore', '--from', file, '--identity', identity);
  expect([restored.code, restored.stderr]).toEqual([0, '']);
  expect(restored.json<object>()).toMatchObject({
    raw_databases_of: [],
    raw_databases_kept: [],
    audit_breaks: [],
  });
  expect(await objectsOf(env)).toEqual(objects);
  const second = await startEmbedded({ dataDir: env.SVC_DATA_DIR, env: quiet });
  await queryUrl(await expectSame(second, filled, content), 'drop table orders cascade');
  expect(await second.stop()).toBe(0);

  // Again, over the system that has changed.
  expect((await svcAdmin(env, 'restore', '--from', file, '--identity', identity)).code).toBe(11);
  const again = await svcAdmin(env, 'restore', '--from', file, '--identity', identity, '--yes');
  expect(again.json<object>()).toMatchObject({
    raw_databases_kept: [expect.stringMatching(/^svc_raw_\w+_until_\d+$/)],
  });
  const third = await startEmbedded({ dataDir: env.SVC_DATA_DIR, env: quiet });
  await expectSame(third, filled, content);
  expect(await third.stop()).toBe(0);
});
