import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { queryUrl } from './support/database.ts';
import { hasPostgres15, startPostgres15 } from './support/postgres15.ts';
import { hasS3Server, startS3 } from './support/s3.ts';
import { startEmbedded, startServer, temporaryFolder } from './support/server.ts';
import { newStorageApp, put, signUpload } from './support/storage.ts';
import {
  backupFile,
  contentOf,
  expectSame,
  fillSystem,
  objectsOf,
  svcAdmin,
} from './support/whole-system.ts';

const quiet = { SVC_SEED: 'none' };

describe.if(hasS3Server && hasPostgres15)('with PostgreSQL 15 and a bucket', () => {
  const s3 = useFixture(startS3, (it) => it.stop());

  test('all is restored to another server and bucket, and from there to one machine without them', async () => {
    const [one, two] = [await startPostgres15(), await startPostgres15()];
    const external = async ({ url }: typeof one) => {
      await queryUrl(url('postgres'), 'create database svc');
      return { ...quiet, SVC_DATABASE_URL: url('svc'), ...(await s3.env()) };
    };
    const first = await startServer({ env: await external(one) });
    const filled = await fillSystem(first);
    const [content, objects] = [await contentOf(filled.url), await objectsOf(first.env)];
    expect(await first.stop()).toBe(0);
    const file = backupFile('bucket.tar.gz');
    const made = await svcAdmin(first.env, 'backup', '--to', file);
    expect(made.json<object>()).toMatchObject({
      left_out: [],
      objects: { count: Object.keys(objects).length },
    });

    const target = await external(two);
    const env = { ...first.env, ...target, SVC_DATA_DIR: join(temporaryFolder(), 'data') };
    const restored = await svcAdmin(env, 'restore', '--from', file);
    expect([restored.code, restored.stderr]).toEqual([0, '']);
    expect(await objectsOf(env)).toEqual(objects);
    const second = await startServer({ dataDir: env.SVC_DATA_DIR, env: target });
    await expectSame(second, filled, content);
    expect(await second.stop()).toBe(0);
    await Promise.all([one.stop(), two.stop()]);

    const alone = {
      ...first.env,
      SVC_DATABASE_URL: '',
      SVC_OBJECT_STORE: 'file',
      SVC_DATA_DIR: join(temporaryFolder(), 'data'),
    };
    expect((await svcAdmin(alone, 'restore', '--from', file)).code).toBe(0);
    expect(await objectsOf(alone)).toEqual(objects);
    const third = await startEmbedded({ dataDir: alone.SVC_DATA_DIR, env: quiet });
    // PostgreSQL 18 words some definitions differently.
    const { definitions: _, ...rows } = content;
    await expectSame(third, filled, rows);
    expect(await third.stop()).toBe(0);
  });

  test('a bucket that goes away during a backup leaves no file', async () => {
    const server = await startEmbedded({ env: { ...quiet, ...(await s3.env()) } });
    const app = await newStorageApp(server);
    for (const name of ['a', 'b'])
      expect((await put(await signUpload(app, name), new Uint8Array(12_000_000))).status).toBe(201);
    const file = backupFile('cut.tar.gz');
    s3.pause();
    const refused = await svcAdmin(server.env, 'backup', '--to', file);
    s3.resume();
    expect([refused.code, readdirSync(dirname(file))]).toEqual([13, []]);
    expect(refused.stderr).toContain('object store is unavailable');
    expect((await svcAdmin(server.env, 'backup', '--to', file)).code).toBe(0);
    expect(await server.stop()).toBe(0);
  });
});
