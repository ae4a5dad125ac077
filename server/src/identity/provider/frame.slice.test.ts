import { expect, test } from 'bun:test';
import { cliClientId } from '@svc/contract/identity.ts';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import { createLog } from '../../core/log.ts';
import { useTestDatabase } from '../../testing.ts';
import { newUser, refresh, startTestProvider, testPassword } from './provider-testing.ts';

const database = useTestDatabase();
let isAway = false;
const logged: string[] = [];

const provider = useFixture(
  async () => {
    const pool = new pg.Pool({ connectionString: database.url });
    const flaky = {
      connect: () =>
        isAway
          ? Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
          : pool.connect(),
      end: () => pool.end(),
      options: {},
    };
    // biome-ignore lint/complexity/noBannedTypes: as in plumbing/db.ts.
    const db = new Kysely<{}>({ dialect: new PostgresDialect({ pool: flaky }) }).withSchema('svc');
    const log = createLog({ level: 'debug', write: (line) => void logged.push(line) });
    const started = await startTestProvider({ ...database, db }, { log });
    return { ...started, stop: () => started.stop().then(() => pool.end()) };
  },
  (it) => it.stop(),
);

test('while the database is unavailable, pages and programs get 503, and recover afterwards', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  const login = await browser.open('/login');
  isAway = true;
  const pages = [
    await browser.open('/login'),
    await browser.submit(login, '/login', { email: user.email, password: testPassword }),
  ];
  const device = await provider.post('/oauth/device/auth', { client_id: cliClientId });
  const token = await refresh(provider, 'anything');
  isAway = false;
  for (const page of pages) {
    expect(page.status).toBe(503);
    expect(page.headers.get('retry-after')).toBe('1');
    expect(page.html).toContain('Something went wrong');
    expect(page.html).not.toContain('refused');
  }
  for (const { status, body } of [device, token]) {
    expect(status).toBe(503);
    expect(body).toEqual({ error: 'temporarily_unavailable' });
  }
  const done = await browser.submit(login, '/login', { email: user.email, password: testPassword });
  expect(done.url).toBe(`${provider.baseUrl}/`);
});

test('the log has the error and the request id, and no password or token', () => {
  const text = logged.join('');
  expect(text).toContain('"request_id":"test"');
  expect(text).not.toContain(testPassword);
  expect(text).toContain('"level":"error"');
});
