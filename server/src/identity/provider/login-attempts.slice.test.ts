import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import {
  accountAttemptsMax,
  accountLimit,
  addressAttemptsMax,
  recordAttempt,
  refundAttempt,
} from './login-attempts.ts';
import { newUser, testPassword, useProvider } from './provider-testing.ts';
import { deleteOldLoginAttempts } from './store.ts';

const { database, provider } = useProvider();

test('of concurrent attempts exactly the allowed number passes', async () => {
  const limits = [
    { key: 'race', max: 10 },
    { key: 'wider', max: 1000 },
  ];
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      recordAttempt(database.db, index % 2 ? limits : limits.toReversed()),
    ),
  );
  expect(answers.filter((seconds) => seconds === null).length).toBe(10);
  for (const seconds of answers) if (seconds !== null) expect(seconds).toBeWithin(1, 61);
});

test("the count restarts after a minute of the database's clock", async () => {
  const limit = { key: 'window', max: 1 };
  expect(await recordAttempt(database.db, [limit])).toBeNull();
  expect(await recordAttempt(database.db, [limit])).not.toBeNull();
  await sql`update svc.login_attempts set window_start = now() - interval '60 seconds' where key = 'window'`.execute(
    database.db,
  );
  expect(await recordAttempt(database.db, [limit])).toBeNull();
  await refundAttempt(database.db, [limit]);
  expect(await recordAttempt(database.db, [limit])).toBeNull();
  await sql`update svc.login_attempts set window_start = now() - interval '2 hours' where key = 'window'`.execute(
    database.db,
  );
  await deleteOldLoginAttempts(database.db);
  expect(
    (await sql`select 1 from svc.login_attempts where key = 'window'`.execute(database.db)).rows,
  ).toEqual([]);
});

test('after ten wrong passwords a minute even the right one is refused', async () => {
  const user = await newUser(database);
  const attempt = async (address: string, password: string) => {
    const browser = provider.browser(address);
    return browser.submit(await browser.open('/login'), '/login', { email: user.email, password });
  };
  await failures(user.email, accountAttemptsMax - 1);
  expect((await attempt('198.51.100.1', 'wrong')).status).toBe(401);
  const refused = await attempt('198.51.100.200', testPassword);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61);
  expect(refused.html).toContain('Too many attempts');
  await sql`update svc.login_attempts set window_start = now() - interval '61 seconds'`.execute(database.db);
  expect((await attempt('198.51.100.200', testPassword)).status).toBe(200);
});

test("signing in clears the account's count, and many users can sign in from one address", async () => {
  const user = await newUser(database);
  const attempt = async (password: string) => {
    const browser = provider.browser('192.0.2.1');
    return browser.submit(await browser.open('/login'), '/login', { email: user.email, password });
  };
  await failures(user.email, accountAttemptsMax - 1);
  expect((await attempt(testPassword)).status).toBe(200);
  expect((await attempt('wrong')).status).toBe(401);
  const { rows } = await sql<{ failures: number }>`
    select failures from svc.login_attempts where key = 'login:address:192.0.2.1'`.execute(database.db);
  expect(rows).toEqual([{ failures: 1 }]);
});

test('an address is blocked after thirty wrong attempts for any accounts', async () => {
  const key = 'login:address:192.0.2.7';
  await sql`insert into svc.login_attempts values (${key}, now(), ${addressAttemptsMax})`.execute(
    database.db,
  );
  const browser = provider.browser('192.0.2.7');
  const refused = await browser.submit(await browser.open('/login'), '/login', {
    email: 'a@example.test',
    password: 'x',
  });
  expect(refused.status).toBe(429);
});

async function failures(email: string, count: number): Promise<void> {
  const { key } = accountLimit(email);
  await sql`insert into svc.login_attempts values (${key}, now(), ${count})`.execute(database.db);
}
