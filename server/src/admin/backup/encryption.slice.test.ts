import { afterAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { query } from '../../drivers/database/testing.ts';
import { admin, installations } from '../testing.ts';

const place = installations();
afterAll(() => place.remove());

let count = 0;
const newFile = (name: string) => join(place.folder, `${++count}-${name}`);

async function newIdentity() {
  const secret = await generateIdentity();
  const file = newFile('identity.txt');
  writeFileSync(file, `# created by a test\n${secret}\n`);
  return { file, recipient: await identityToRecipient(secret) };
}

async function newSource() {
  const source = await place.installation();
  await source.run(['tenants', 'create', 'acme', '--name', 'A name to look for']);
  return source;
}

test('an encrypted backup is restored with each of its identities, and with no other', async () => {
  const source = await newSource();
  const [mine, yours, foreign] = [await newIdentity(), await newIdentity(), await newIdentity()];
  const file = newFile('backup.age');
  const recipients = ['--recipient', mine.recipient, '--recipient', yours.recipient];
  expect(await source.run(['backup', '--to', file, ...recipients])).toMatchObject({ encrypted: true });
  expect(readFileSync(file).subarray(0, 21).toString()).toBe('age-encryption.org/v1');

  const target = await place.installation();
  const restore = (...flags: string[]) => admin(target.env, ['restore', '--from', file, ...flags]);
  const without = await restore();
  expect([without.exit, without.err]).toEqual([7, expect.stringContaining('the backup is encrypted')]);
  const wrong = await restore('--identity', foreign.file);
  expect([wrong.exit, wrong.err]).toEqual([7, expect.stringContaining('which is encrypted for others')]);
  const missing = await restore('--identity', newFile('missing'));
  expect([missing.exit, missing.err]).toEqual([7, expect.stringContaining('cannot be read')]);

  for (const { file: identity } of [mine, yours])
    expect(await restore('--identity', identity, '--yes')).toMatchObject({ exit: 0 });
  expect(await query(target.url, 'select slug, name from svc.tenants')).toEqual([
    { slug: 'acme', name: 'A name to look for' },
  ]);
});

test('a damaged encrypted backup is refused, and an invalid recipient writes nothing', async () => {
  const source = await newSource();
  const { file: identity, recipient } = await newIdentity();
  const file = newFile('backup.age');
  await source.run(['backup', '--to', file, '--recipient', recipient]);
  const bytes = readFileSync(file);
  const target = await place.installation();
  const flipped = Buffer.from(bytes);
  flipped[bytes.length - 100] = (flipped[bytes.length - 100] ?? 0) ^ 1;
  for (const damaged of [flipped, bytes.subarray(0, bytes.length - 10), bytes.subarray(0, 100)]) {
    const broken = newFile('damaged.age');
    writeFileSync(broken, damaged);
    const outcome = await admin(target.env, ['restore', '--from', broken, '--identity', identity]);
    expect([outcome.exit, outcome.err]).toEqual([7, expect.stringContaining('is not a valid backup')]);
  }
  const invalid = await admin(source.env, ['backup', '--to', newFile('none'), '--recipient', 'age1nothing']);
  expect([invalid.exit, invalid.err]).toEqual([7, expect.stringContaining('is not a public key of age')]);
});

test('a backup of encrypted keys is restored only with its master key', async () => {
  const source = await newSource();
  const master = newFile('master.key');
  const { master_key } = await source.run(['keys', 'create-master-key', '--to', master]);
  const again = await admin(source.env, ['keys', 'create-master-key', '--to', master]);
  expect([again.exit, again.err]).toEqual([2, expect.stringContaining('already exists')]);
  const env = { ...source.env, SVC_MASTER_KEY_FILE: master };
  expect(await admin(env, ['keys', 'rotate', 'url.signing_key'])).toMatchObject({ exit: 0 });
  const file = newFile('backup.tar.gz');
  expect((await admin(env, ['backup', '--to', file])).json).toMatchObject({ master_key, encrypted: false });

  const target = await place.installation();
  const restore = (more: Record<string, string>) =>
    admin({ ...target.env, ...more }, ['restore', '--from', file]);
  const without = await restore({});
  expect([without.exit, without.err]).toEqual([2, expect.stringContaining(`the master key ${master_key}`)]);
  const other = newFile('other.key');
  await source.run(['keys', 'create-master-key', '--to', other]);
  const wrong = await restore({ SVC_MASTER_KEY_FILE: other });
  expect([wrong.exit, wrong.err]).toEqual([2, expect.stringContaining('contains the master key')]);
  expect(await query(target.url, "select to_regclass('svc.tenants') as found")).toEqual([{ found: null }]);
  expect(await restore({ SVC_MASTER_KEY_FILE: master })).toMatchObject({ exit: 0 });
  const inside = { ...target.env, SVC_MASTER_KEY_FILE: join(target.dataDir, 'master.key') };
  expect(await admin(inside, ['keys', 'list'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('must be outside the data dir'),
  });
});

test('keys that do not exist are not rotated, and rewrap without a master key decrypts', async () => {
  const source = await newSource();
  const unknown = await admin(source.env, ['keys', 'rotate', 'nothing']);
  expect([unknown.exit, unknown.err]).toEqual([5, expect.stringContaining('There is no key nothing')]);
  const master = newFile('master.key');
  await source.run(['keys', 'create-master-key', '--to', master]);
  await admin({ ...source.env, SVC_MASTER_KEY_FILE: master }, ['keys', 'rotate', 'rows.cursor_key']);
  const sealed = await admin(source.env, ['keys', 'list']);
  expect([sealed.exit, sealed.err]).toEqual([2, expect.stringContaining('SVC_MASTER_KEY_FILE is required')]);
  expect(await source.run(['keys', 'rewrap', '--from-file', master])).toEqual({
    changed: 2,
    master_key: null,
  });
  const { items } = await source.run(['keys', 'list']);
  const found = items.find(({ name }: { name: string }) => name === 'rows.cursor_key');
  expect(found).toMatchObject({ kind: 'secret', generation: 1, master_key: 'none' });
  expect(found.state).toStartWith('2 in use from ');
});
