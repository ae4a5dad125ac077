import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { sha256 } from '../../core/values.ts';
import {
  accountAttemptsMax,
  addressAttemptsMax,
  attackedFrom,
  recordAttempt,
  refundAttempt,
} from '../account/attempts.ts';
import { deleteOldLoginAttempts } from '../account/store.ts';
import type { TestBrowser } from './browser-testing.ts';
import { newUser, testPassword, useProvider } from './provider-testing.ts';

const { database, provider } = useProvider();

let addresses = 0;
const newAddress = () => `198.51.100.${++addresses}`;

async function attempt(browser: TestBrowser, email: string, password: string) {
  return browser.submit(await browser.open('/login'), '/login', { email, password });
}

/** Long enough that the wait does not end on a slow machine. */
const prolongWaits = () =>
  sql`update svc.login_attempts set blocked_until = now() + interval '10 minutes' where blocked_until is not null`.execute(
    database.db,
  );

const wrong = (browser: TestBrowser, email: string) =>
  attempt(browser, email, 'wrong').then((it) => it.status);

test('of concurrent attempts exactly the allowed number passes', async () => {
  const limits = [
    { key: 'race', max: 10, firstSeconds: 600 },
    { key: 'wider', max: 1000 },
  ];
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      recordAttempt(database.db, index % 2 ? limits : limits.toReversed()),
    ),
  );
  expect(answers.filter((seconds) => seconds === null).length).toBe(10);
  for (const seconds of answers) if (seconds !== null) expect(seconds).toBeWithin(1, 601);
});

test('waits double up to a quarter of an hour, and end after an hour without an attempt', async () => {
  const { db } = database;
  const limit = { key: 'growing', max: 2, firstSeconds: 100 };
  const pass = () =>
    sql`update svc.login_attempts set blocked_until = now() where key = 'growing'`.execute(db);
  const waits: (number | null)[] = [];
  for (let round = 0; round < 7; round++) {
    waits.push(await recordAttempt(db, [limit]));
    const wait = await recordAttempt(db, [limit]);
    if (round > 0) waits.push(wait === null ? null : Math.round(wait / 100));
    await pass();
  }
  // The first two attempts are free; each later one is followed by a longer wait.
  expect(waits.filter((wait) => wait !== null)).toEqual([2, 4, 8, 9, 9, 9]);
  await sql`update svc.login_attempts set window_start = now() - interval '61 minutes', blocked_until = now() + interval '1 hour'
    where key = 'growing'`.execute(db);
  expect(await recordAttempt(db, [limit])).toBeNull();
  await refundAttempt(db, [limit]);
  await sql`update svc.login_attempts set window_start = now() - interval '2 hours' where key = 'growing'`.execute(
    db,
  );
  await deleteOldLoginAttempts(db);
  expect((await sql`select 1 from svc.login_attempts where key = 'growing'`.execute(db)).rows).toEqual([]);
});

test('wrong passwords from one address make that address wait, and nobody else', async () => {
  const { email } = await newUser(database);
  const stranger = provider.browser(newAddress());
  for (let tried = 0; tried < accountAttemptsMax; tried++) expect(await wrong(stranger, email)).toBe(401);
  await prolongWaits();
  const refused = await attempt(stranger, email, testPassword);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 601);
  expect(refused.html).toContain('Too many attempts');
  // The owner, from an address that was never used before.
  expect((await attempt(provider.browser(newAddress()), email, testPassword)).status).toBe(200);
});

test('a known browser is not slowed by failures at its address, nor a known address by failures elsewhere', async () => {
  const { email } = await newUser(database);
  const [address, elsewhere] = [newAddress(), newAddress()];
  const owner = provider.browser(address);
  expect((await attempt(owner, email, testPassword)).status).toBe(200);
  await sql`insert into svc.login_attempts values
    (${`login:address:${address}`}, now(), ${addressAttemptsMax}, now() + interval '10 minutes'),
    (${`login:account:${sha256(email)}:address:${address}`}, now(), 20, now() + interval '10 minutes'),
    (${`login:account:${sha256(email)}`}, now(), ${attackedFrom}, null)
    on conflict (key) do update set failures = excluded.failures, blocked_until = excluded.blocked_until`.execute(
    database.db,
  );
  expect((await attempt(provider.browser(address), email, testPassword)).status).toBe(429);
  // The cookie of the session is gone, that of the browser is not.
  owner.cookies = owner.cookies.filter(({ name }) => name === 'svc_browser');
  expect((await attempt(owner, email, testPassword)).status).toBe(200);
  const stranger = provider.browser(elsewhere);
  expect(await wrong(stranger, email)).toBe(401);
  await prolongWaits();
  expect(await wrong(stranger, email)).toBe(429);
  const other = provider.browser(address);
  await sql`delete from svc.login_attempts where key like ${`%:address:${address}`}`.execute(database.db);
  for (let tried = 0; tried < 3; tried++) expect(await wrong(other, email)).toBe(401);
});

test('an account that is attacked from many addresses stays open to its owner at a new address', async () => {
  const { email } = await newUser(database);
  await sql`insert into svc.login_attempts values (${`login:account:${sha256(email)}`}, now(), 100000, null)`.execute(
    database.db,
  );
  const stranger = provider.browser(newAddress());
  expect(await wrong(stranger, email)).toBe(401);
  await prolongWaits();
  expect(await wrong(stranger, email)).toBe(429);
  expect((await attempt(provider.browser(newAddress()), email, testPassword)).status).toBe(200);
});

test('signing in clears the count, and many users can sign in from one address', async () => {
  const { email } = await newUser(database);
  const address = newAddress();
  const browser = provider.browser(address);
  for (let tried = 1; tried < accountAttemptsMax; tried++) expect(await wrong(browser, email)).toBe(401);
  expect((await attempt(browser, email, testPassword)).status).toBe(200);
  const { rows } = await sql<{ failures: number }>`
    select failures from svc.login_attempts where key = ${`login:address:${address}`}`.execute(database.db);
  expect(rows).toEqual([{ failures: accountAttemptsMax - 1 }]);
  const again = provider.browser(address);
  for (let tried = 1; tried < accountAttemptsMax; tried++) expect(await wrong(again, email)).toBe(401);
});

test('an address waits after thirty wrong attempts for any accounts', async () => {
  const address = newAddress();
  await sql`insert into svc.login_attempts values
    (${`login:address:${address}`}, now(), ${addressAttemptsMax}, now() + interval '10 minutes')`.execute(
    database.db,
  );
  expect(await wrong(provider.browser(address), 'a@example.test')).toBe(429);
});
