import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { NotificationKind } from '@svc/contract/notifications.ts';
import { sql } from 'kysely';
import { type MailMessage, MailRefused } from '../drivers/mail/mail.ts';
import type { Caller } from '../plumbing/context.ts';
import { newTenant, silentLog, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { mailNotification } from './mail-notification.ts';
import { notify } from './notify.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const day = 24 * 3_600_000;

/** A member who was told something, and the effect that mails it, with a mail server that does as it is told. */
async function told(kind: NotificationKind = 'deployment_failed') {
  const { db } = database;
  const { tenant, member } = await newTenant(db);
  const path = `/t/${tenant.slug}/apps/shop/domains`;
  const what = { title: 'Tom & <b>Co</b>', text: 'One.\n\nTwo <script>.', path };
  const tell = (userId: string) => (ctx: Parameters<typeof notify>[0]) =>
    notify(ctx, {
      ...{ tenantId: tenant.id, kind, appId: null },
      userIds: [userId],
      ...what,
    });
  await testMutation(db, member, tell(member.userId), { context: { tenant } });
  const { rows } = await sql<{ payload: Record<string, unknown> }>`
    select payload from svc.outbox where topic = 'notifications.mail' and payload->>'tenantId' = ${tenant.id}`.execute(
    db,
  );
  const sent: MailMessage[] = [];
  let clock = Date.now();
  let serverDoes: () => void = () => {};
  const mail = {
    send: async (message: MailMessage) => {
      serverDoes();
      sent.push(message);
    },
    check: async () => {},
  };
  const effect = mailNotification({
    ...{ db, mail, baseUrl: 'https://svc.example', log: silentLog },
    now: () => new Date(clock),
  });
  return {
    ...{ tenant, member, sent, path },
    run: () => effect(rows[0]?.payload ?? {}),
    pass: (ms: number) => {
      clock += ms;
    },
    let: (does: () => void) => {
      serverDoes = does;
    },
  };
}
const suspend = ({ userId }: Caller) =>
  sql`update svc.users set status = 'suspended' where id = ${userId}`.execute(database.db);

test('an e-mail says what happened and where to look, and nothing of it is taken for HTML', async () => {
  const { run, sent, member, path } = await told();
  await run();
  const [mail] = sent;
  expect([sent.length, mail?.to.address, mail?.subject]).toEqual([1, member.email, 'Tom & <b>Co</b>']);
  expect(mail?.text).toContain(`One.\n\nTwo <script>.\n\nhttps://svc.example${path}\n`);
  expect(mail?.html).toContain(`<a href="https://svc.example${path}">`);
  expect(mail?.html).not.toMatch(/<b>|<script>/);
});

test('it keeps its id when it is sent again, so that it can be known for one', async () => {
  const { run, sent } = await told();
  await run();
  await run();
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
});

test('who was suspended, or has left the tenant, gets none', async () => {
  const one = await told();
  await suspend(one.member);
  await one.run();
  const other = await told();
  await sql`delete from svc.memberships where user_id = ${other.member.userId}`.execute(database.db);
  await other.run();
  expect([one.sent, other.sent]).toEqual([[], []]);
});

test('that they were taken out of a tenant is told also to who is no member any more, unless they are suspended', async () => {
  const one = await told('role_changed');
  await sql`delete from svc.memberships where user_id = ${one.member.userId}`.execute(database.db);
  await one.run();
  expect(one.sent.length).toBe(1);
  await suspend(one.member);
  await one.run();
  expect(one.sent.length).toBe(1);
});

test('a server that fails is asked again, for a day; then it is given up', async () => {
  const it = await told();
  it.let(() => {
    throw new Error('down');
  });
  for (let hour = 0; hour < 23; hour++) {
    await expect(it.run()).rejects.toThrow('down');
    it.pass(day / 24);
  }
  it.pass(day / 24 + 1000);
  await it.run();
  it.let(() => {});
  await it.run();
  expect(it.sent).toEqual([]);
});

test('a server that keeps people waiting is left alone for a while', async () => {
  const it = await told();
  let asked = 0;
  it.let(() => {
    asked++;
    it.pass(8_000);
    throw new Error('timed out');
  });
  await expect(it.run()).rejects.toThrow('timed out');
  it.pass(31_000);
  await expect(it.run()).rejects.toThrow('a moment ago');
  expect(asked).toBe(1);
  it.pass(2_000);
  it.let(() => {});
  await it.run();
  expect(it.sent.length).toBe(1);
});

test('an address that is refused is not tried again', async () => {
  const it = await told();
  it.let(() => {
    throw new MailRefused('no such user');
  });
  await it.run();
  expect(it.sent).toEqual([]);
});

test('without a mail server there is nothing to do', async () => {
  const effect = mailNotification({
    ...{ db: database.db, mail: null, baseUrl: 'https://svc.example', log: silentLog },
    now: () => new Date(),
  });
  expect(await effect({ tenantId: 'x', notificationId: 'y' })).toBeUndefined();
});
