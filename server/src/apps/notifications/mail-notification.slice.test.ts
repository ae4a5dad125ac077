import { expect, test } from 'bun:test';
import type { NotificationKind } from '@svc/contract/notifications.ts';
import { sql } from 'kysely';
import type { Caller } from '../../core/context.ts';
import { type MailMessage, MailRejectedError } from '../../drivers/mail/mail.ts';
import { newTenant, silentLog, testMutation, useTestDatabase } from '../../testing.ts';
import { mailNotification } from './mail-notification.ts';
import { notify } from './notifications.ts';

const database = useTestDatabase();

const day = 24 * 3_600_000;

async function newNotification(kind: NotificationKind = 'deployment_failed') {
  const { db } = database;
  const { tenant, member } = await newTenant(db);
  const path = `/t/${tenant.slug}/apps/shop/domains`;
  const message = { title: 'Tom & <b>Co</b>', text: 'One.\n\nTwo <script>.', path };
  const notifyUser = (userId: string) => (ctx: Parameters<typeof notify>[0]) =>
    notify(ctx, { ...message, tenantId: tenant.id, kind, appId: null, userIds: [userId] });
  await testMutation(db, member, notifyUser(member.userId), { context: { tenant } });
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
  const now = () => new Date(clock);
  const effect = mailNotification({ db, mail, baseUrl: 'https://svc.example', log: silentLog, now });
  return {
    tenant,
    member,
    sent,
    path,
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

test('an e-mail has the text and a link, and escapes HTML', async () => {
  const { run, sent, member, path } = await newNotification();
  await run();
  const [mail] = sent;
  expect([sent.length, mail?.to.address, mail?.subject]).toEqual([1, member.email, 'Tom & <b>Co</b>']);
  expect(mail?.text).toContain(`One.\n\nTwo <script>.\n\nhttps://svc.example${path}\n`);
  expect(mail?.html).toContain(`<a href="https://svc.example${path}">`);
  expect(mail?.html).not.toMatch(/<b>|<script>/);
});

test('an e-mail that is sent again has the same id', async () => {
  const { run, sent } = await newNotification();
  await run();
  await run();
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
});

test('suspended users and former members get no e-mail', async () => {
  const one = await newNotification();
  await suspend(one.member);
  await one.run();
  const other = await newNotification();
  await sql`delete from svc.memberships where user_id = ${other.member.userId}`.execute(database.db);
  await other.run();
  expect([one.sent, other.sent]).toEqual([[], []]);
});

test('a removed member gets the e-mail about the removal, unless suspended', async () => {
  const one = await newNotification('role_changed');
  await sql`delete from svc.memberships where user_id = ${one.member.userId}`.execute(database.db);
  await one.run();
  expect(one.sent.length).toBe(1);
  await suspend(one.member);
  await one.run();
  expect(one.sent.length).toBe(1);
});

test('a failing mail server is retried for a day', async () => {
  const it = await newNotification();
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

test('sending pauses after the mail server did not respond', async () => {
  const it = await newNotification();
  let asked = 0;
  it.let(() => {
    asked++;
    it.pass(8_000);
    throw new Error('timed out');
  });
  await expect(it.run()).rejects.toThrow('timed out');
  it.pass(31_000);
  await expect(it.run()).rejects.toThrow('sending is paused');
  expect(asked).toBe(1);
  it.pass(2_000);
  it.let(() => {});
  await it.run();
  expect(it.sent.length).toBe(1);
});

test('a rejected address is not retried', async () => {
  const it = await newNotification();
  it.let(() => {
    throw new MailRejectedError('no such user');
  });
  await it.run();
  expect(it.sent).toEqual([]);
});

test('without a mail server nothing is sent', async () => {
  const deps = { db: database.db, log: silentLog, now: () => new Date() };
  const effect = mailNotification({ ...deps, mail: null, baseUrl: 'https://svc.example' });
  expect(await effect({ tenantId: 'x', notificationId: 'y' })).toBeUndefined();
});
