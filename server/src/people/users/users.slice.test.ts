import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import type { MutationCtx } from '../../core/context.ts';
import { sha256 } from '../../core/values.ts';
import { operator } from '../../identity/provider/testing.ts';
import { issueAccessToken } from '../../identity/sessions/issue-token.ts';
import { countModels, openSession } from '../../identity/sessions/testing.ts';
import { codeOf, newUser, testMutation, useTestDatabase } from '../../testing.ts';
import {
  activateUser,
  createUser,
  findUser,
  listUsers,
  setPassword,
  suspendUser,
  verifyPassword,
} from './users.ts';

const database = useTestDatabase();

async function run<T>(verb: (ctx: MutationCtx) => Promise<T>): Promise<T> {
  return (await testMutation(database.db, operator, verb)).value;
}

let numbers = 0;
const newEmail = () => `person-${++numbers}@example.test`;

test('a user is found by id and by e-mail address in any case', async () => {
  const email = newEmail();
  const user = await run((ctx) => createUser(ctx, { email: ` ${email.toUpperCase()} `, name: 'Ada' }));
  expect(user).toEqual({ id: user.id, email, name: 'Ada', status: 'active' });
  expect(await findUser(database, { ref: user.id.toUpperCase() })).toEqual(user);
  expect(await findUser(database, { ref: email.toUpperCase() })).toEqual(user);
  expect(await listUsers(database)).toContainEqual(user);
  for (const ref of [Bun.randomUUIDv7(), 'nobody@example.test', '', '\0']) {
    expect(await findUser(database, { ref })).toBeNull();
  }
});

test('an address belongs to one user, also with concurrent creation', async () => {
  const email = newEmail();
  const made = await Promise.all(
    [email, email.toUpperCase(), email].map((text) => codeOf(run((ctx) => createUser(ctx, { email: text })))),
  );
  expect(made.sort()).toEqual(['done', 'unique_violation', 'unique_violation']);
});

test('an invalid address, name or password is refused', async () => {
  const create = (input: { email: string; name?: string; password?: string }) =>
    codeOf(run((ctx) => createUser(ctx, input)));
  for (const email of ['', 'a', '@b', 'a@', 'a b@c', 'a@b@c', 'a@b\0', `a@${'b'.repeat(260)}`]) {
    expect(await create({ email })).toBe('validation_failed');
  }
  expect(await create({ email: newEmail(), name: 'a\nb' })).toBe('validation_failed');
  for (const password of ['elevenchars', 'password1234', 'qwertyuiop123', '123456789012', 'aaaaaaaaaaaaaa'])
    expect([password, await create({ email: newEmail(), password })]).toEqual([
      password,
      'validation_failed',
    ]);
  const anna = { email: 'anna.bergmann@acme.test', name: 'Anna Bergmann' };
  for (const password of [
    'anna.bergmann',
    'bergmann.acme',
    'annabergmann1',
    'Anna@acme.test!',
    'acme-anna-acme',
  ])
    expect([password, await create({ ...anna, password })]).toEqual([password, 'validation_failed']);
  expect(await create({ email: 'ada.lovelace@example.test', password: 'ada.lovelace' })).toBe(
    'validation_failed',
  );
  expect(await create({ email: newEmail(), name: 'Grace Hopper', password: 'grace hopper1' })).toBe(
    'validation_failed',
  );
  expect(await create({ email: newEmail(), password: 'x'.repeat(1025) })).toBe('validation_failed');
});

test('a user without a name is named by the address', async () => {
  expect(await run((ctx) => createUser(ctx, { email: 'grace@example.test' }))).toMatchObject({
    name: 'grace',
  });
});

test('a password is stored only as an argon2id hash', async () => {
  const [email, password] = [newEmail(), 'correct horse battery'];
  const { id } = await run((ctx) => createUser(ctx, { email, password }));
  await run((ctx) => setPassword(ctx, { userId: id, password: 'another correct horse' }));
  const { rows } = await sql<{ text: string }>`
    select password_hash as text from svc.users where id = ${id} union all
    select to_json(a)::text from svc.audit_entries a where target_id = ${id}`.execute(database.db);
  expect(rows[0]!.text).toStartWith('$argon2id$');
  expect(rows).toHaveLength(3);
  const audit = rows
    .slice(1)
    .map((row) => row.text)
    .join();
  expect(audit).not.toContain('correct horse');
  expect(audit).not.toContain('argon2id');
});

test('the right password of an active user, and nothing else, is accepted', async () => {
  const [email, password] = [newEmail(), 'correct horse battery'];
  const user = await run((ctx) => createUser(ctx, { email, password }));
  const verify = (input: { email: string; password: string }) => verifyPassword(database, input);
  expect(await verify({ email: email.toUpperCase(), password })).toEqual(user);
  expect(await verify({ email, password: `${password}x` })).toBeNull();
  expect(await verify({ email: user.id, password })).toBeNull();
  // The placeholder hash for unknown users must not match any password.
  expect(await verify({ email: 'nobody@example.test', password: 'x' })).toBeNull();
  const withoutPassword = await run((ctx) => createUser(ctx, { email: newEmail() }));
  expect(await verify({ email: withoutPassword.email, password: 'x' })).toBeNull();
  await run((ctx) => suspendUser(ctx, { userId: user.id }));
  expect(await verify({ email, password })).toBeNull();
});

test('suspending ends every sign-in and is audited once', async () => {
  const { userId } = await newUser(database.db, null);
  await openSession(database.db, userId);
  await run((ctx) => issueAccessToken(ctx, { userId, ttlSeconds: 60 }));
  expect(await countModels(database.db, userId)).toBe(3);
  expect(await run((ctx) => suspendUser(ctx, { userId }))).toMatchObject({ status: 'suspended' });
  expect(await countModels(database.db, userId)).toBe(0);
  expect(await run((ctx) => suspendUser(ctx, { userId }))).toMatchObject({ status: 'suspended' });
  expect(await codeOf(run((ctx) => issueAccessToken(ctx, { userId, ttlSeconds: 60 })))).toBe(
    'invalid_state_transition',
  );
  expect(await run((ctx) => activateUser(ctx, { userId }))).toMatchObject({ status: 'active' });
  const { rows } = await sql<{ action: string }>`
    select action from svc.audit_entries where target_id = ${userId} order by seq`.execute(database.db);
  expect(rows.map((row) => row.action)).toEqual(['tokens.issue', 'users.suspend', 'users.activate']);
});

test('a preview without changes names its target', async () => {
  const { userId, email } = await newUser(database.db, null);
  const target = { kind: 'user', id: userId, name: email };
  const preview = async (verb: (ctx: MutationCtx) => Promise<unknown>) => {
    const { result } = await testMutation(database.db, operator, verb, { mode: 'preview' });
    return result.kind === 'previewed' ? { target: result.plan.target, changes: result.plan.changes } : null;
  };
  expect(await preview((ctx) => activateUser(ctx, { userId }))).toEqual({ target, changes: [] });
  await run((ctx) => suspendUser(ctx, { userId }));
  expect(await preview((ctx) => suspendUser(ctx, { userId }))).toEqual({ target, changes: [] });
});

test('a missing user cannot be suspended, activated or given a token', async () => {
  const userId = Bun.randomUUIDv7();
  expect(await codeOf(run((ctx) => suspendUser(ctx, { userId })))).toBe('not_found');
  expect(await codeOf(run((ctx) => activateUser(ctx, { userId })))).toBe('not_found');
  expect(await codeOf(run((ctx) => setPassword(ctx, { userId, password: 'surely long enough' })))).toBe(
    'not_found',
  );
  expect(await codeOf(run((ctx) => issueAccessToken(ctx, { userId, ttlSeconds: 60 })))).toBe('not_found');
});

test('an issued token lasts one second to one day, and only its hash is stored', async () => {
  const { userId } = await newUser(database.db, null);
  for (const ttlSeconds of [0, -1, 1.5, 86_401, Number.NaN]) {
    expect(await codeOf(run((ctx) => issueAccessToken(ctx, { userId, ttlSeconds })))).toBe(
      'validation_failed',
    );
  }
  const { token, expiresAt } = await run((ctx) => issueAccessToken(ctx, { userId, ttlSeconds: 86_400 }));
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(Math.abs(expiresAt.getTime() - Date.now() - 86_400_000)).toBeLessThan(patientMs(5_000));
  const { rows } = await sql<{ text: string }>`
    select to_json(m)::text as text from svc.oauth_models m where user_id = ${userId}
    union all select to_json(a)::text from svc.audit_entries a where target_id = ${userId}`.execute(
    database.db,
  );
  const text = rows.map((row) => row.text).join();
  expect(text).toContain(sha256(token));
  expect(text).not.toContain(token);
});
