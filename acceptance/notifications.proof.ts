import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  hasSmtpServer,
  type ReceivedMail,
  type SmtpServer,
  startSmtpServer,
} from '../scripts/smtp-server.ts';
import { admin, run, svcFor } from './support/commands.ts';
import { openServerDatabase, queryDatabase, type ServerDatabase } from './support/database.ts';
import { newPerson, newTenant, type Person, type Tenant } from './support/people.ts';
import { type RunningServer, root, startServer, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';

/** A real mail server, which stores e-mails in a folder of the test. */
function startSmtp(place: { port?: number } = {}): Promise<SmtpServer> {
  return startSmtpServer(join(temporaryFolder(), 'smtp'), place);
}

/** Settings with which a server sends e-mail through it. */
function smtpEnv({ url }: Pick<SmtpServer, 'url'>): Record<string, string> {
  return { SVC_SMTP_URL: url, SVC_MAIL_FROM: 'svc of ours <svc@mail.example>' };
}

/** A mail server that greets, and then answers slowly to every e-mail. */
function startSlowSmtp(): { url: string; held: () => number; stop: () => void } {
  let held = 0;
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => void socket.write('220 slow.example ESMTP\r\n'),
      data: (socket, bytes) => {
        if (/^(EHLO|HELO)/.test(bytes.toString())) socket.write('250 slow.example\r\n');
        else held++;
      },
    },
  });
  return {
    url: `smtp://127.0.0.1:${listener.port}`,
    held: () => held,
    stop: () => listener.stop(true),
  };
}

test('a slow mail server delays e-mails only', async () => {
  const slow = startSlowSmtp();
  const server = await startServer({ env: { SVC_DATABASE_URL: '', ...smtpEnv(slow) } });
  const database = openServerDatabase(server);
  const { tenant, app, add } = await ground(server);
  const latest = (topic: string, count: number) =>
    database.query(
      `select done_at is not null as done from svc.outbox
       where topic = $2 and payload->>'tenantId' = $1 order by created_at desc limit $3`,
      [tenant.id, topic, count],
    );
  expect((await add()).status).toBe(201);
  await until('it is being sent', async () => slow.held() > 0, 60_000);
  for (const name of ['One', 'Two', 'Three'])
    expect((await tenant.member.call('PATCH', `${tenant.base}/apps/${app.id}`, { name })).status).toBe(200);
  await until('the heads of the audit are kept', async () =>
    (await latest('audit.anchor', 3)).every(({ done }) => done),
  );
  expect(await latest('notifications.mail', 1)).toEqual([{ done: false }]);
  slow.stop();
  await database.close();
});

interface Notification {
  id: string;
  kind: string;
  app_id: string;
  app_slug: string;
  title: string;
  text: string;
  path: string;
  created_at: string;
  read_at: string | null;
}

/** A tenant with an app of the member, and a person who becomes its co-owner. */
async function ground(server?: RunningServer) {
  const tenant = await newTenant(server);
  const person = await newPerson(tenant.server, { tenant: tenant.id, role: 'tenant_member' });
  const made = await tenant.member.call('POST', `${tenant.base}/apps`, {
    name: 'Web shop',
    slug: `s${unique()}`,
  });
  expect(made.status).toBe(201);
  const app: { id: string; slug: string } = made.body;
  const add = (query = '') =>
    tenant.member.call('POST', `${tenant.base}/apps/${app.id}/co-owners${query}`, { user_id: person.id });
  return { tenant, person, app, add };
}
const unique = () => Bun.randomUUIDv7().replaceAll('-', '').slice(-16);
const listOf = async ({ base }: Tenant, { call }: Person, query = '') => {
  const { status, body } = await call('GET', `${base}/me/notifications${query}`);
  expect(status).toBe(200);
  return body as { items: Notification[]; unread: number; next_cursor: string | null };
};

describe('notifications', () => {
  test('are listed and marked as read with the command line', async () => {
    const { tenant, person, app, add } = await ground();
    const svc = svcFor(tenant.server, { token: person.token, tenant: tenant.slug });
    expect((await add()).status).toBe(201);
    const listed = (await svc(['notifications', 'list', '--unread', '--json'])).json<{
      items: Notification[];
    }>();
    expect(listed.items).toMatchObject([
      {
        kind: 'co_owner_added',
        app_id: app.id,
        app_slug: app.slug,
        read_at: null,
        title: 'You are a co-owner of Web shop',
        path: `/t/${tenant.slug}/apps/${app.slug}/overview`,
      },
    ]);
    const [{ id } = { id: '' }] = listed.items;
    expect((await svc(['notifications', 'list'])).stdout).toContain(id);

    const preview = (await svc(['notifications', 'read', id, '--json'])).json<{
      plan: { changes: unknown[] };
    }>();
    expect(preview.plan.changes).toMatchObject([{ path: 'unread', before: 1, after: 0 }]);
    expect((await listOf(tenant, person)).unread).toBe(1);
    const read = await svc(['notifications', 'read', id, '--execute', '--json']);
    expect(read.json<object>()).toEqual({ changed: 1, unread: 0 });
    const again = await svc(['notifications', 'read', '--all', '--execute', '--json']);
    expect(again.json<object>()).toEqual({ changed: 0, unread: 0 });
    expect((await listOf(tenant, person, '?unread=true')).items).toEqual([]);
    for (const wrong of [[], [id, '--all'], ['--unread']])
      expect((await svc(['notifications', 'read', ...wrong])).code).toBe(2);
    expect((await svc(['notifications', 'read', 'x', '--execute'])).code).toBe(7);
  });

  test('are visible to their person only, and have pages', async () => {
    const { tenant, person, app, add } = await ground();
    for (let again = 0; again < 3; again++) {
      expect((await add()).status).toBe(201);
      await tenant.member.call('DELETE', `${tenant.base}/apps/${app.id}/co-owners/${person.id}`);
    }
    const first = await listOf(tenant, person, '?per_page=2');
    const second = await listOf(tenant, person, `?per_page=2&cursor=${first.next_cursor}`);
    expect([first.items.length, second.items.length, second.next_cursor, second.unread]).toEqual([
      2,
      1,
      null,
      3,
    ]);
    const times = [...first.items, ...second.items].map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().reverse());
    const ids = first.items.map(({ id }) => id);
    const others = await tenant.admin.call('POST', `${tenant.base}/me/notifications/read`, { ids });
    expect([others.status, others.body.changed]).toEqual([200, 0]);
    expect((await listOf(tenant, tenant.admin)).items).toEqual([]);
    expect((await listOf(tenant, person)).unread).toBe(3);
  });

  test('are marked as read by ids or all together, and in no other way', async () => {
    const { tenant, person } = await ground();
    const read = (body: unknown) => person.call('POST', `${tenant.base}/me/notifications/read`, body);
    for (const body of [
      {},
      { ids: [] },
      { all: false },
      { all: true, ids: [Bun.randomUUIDv7()] },
      { ids: ['x'] },
      [],
      { ids: Array.from({ length: 201 }, () => Bun.randomUUIDv7()) },
    ])
      expect([body, (await read(body)).status]).toEqual([body, 400]);
    const cursor = await person.call('GET', `${tenant.base}/me/notifications?cursor=x`);
    expect([cursor.status, cursor.body.code]).toEqual([400, 'invalid_cursor']);
  });
});

describe.if(hasSmtpServer)('with a real mail server,', () => {
  let smtp: SmtpServer;
  let server: RunningServer;
  let database: ServerDatabase;
  beforeAll(async () => {
    smtp = await startSmtp();
    server = await startServer({ env: { SVC_DATABASE_URL: '', ...smtpEnv(smtp) } });
    database = openServerDatabase(server);
  });
  afterAll(async () => {
    await database?.close();
    await smtp?.stop();
  });
  const failures = ({ id }: Tenant) =>
    database.query(
      `select last_error from svc.outbox
       where topic = 'notifications.mail' and last_error is not null and payload->>'tenantId' = $1`,
      [id],
    );

  const mailsTo = ({ email }: Person) => smtp.mails().filter(({ to }) => to === email);
  const mailTo = (person: Person): Promise<ReceivedMail> =>
    until(`${person.email} gets an e-mail`, async () => mailsTo(person)[0], 60_000);

  test('a notification sends one e-mail with a link to the console', async () => {
    const { tenant, person, app, add } = await ground(server);
    await add();
    const mail = await mailTo(person);
    const [notification] = (await listOf(tenant, person)).items;
    expect(mail.header('message-id')).toBe(`<${notification?.id}@mail.example>`);
    expect(mail.header('subject')).toBe('You are a co-owner of Web shop');
    expect(mail.header('from')).toBe('svc of ours <svc@mail.example>');
    expect(mail.header('to')).toContain(person.email);
    expect(mail.text).toContain(`${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}/overview`);
    expect(mail.text).toContain(tenant.member.email);
    expect(mailsTo(tenant.member)).toEqual([]);
    expect(mailsTo(person).length).toBe(1);
  });

  test('a name with line breaks does not become a header', async () => {
    const name = 'Shop\r\nBcc: eve@example.test\r\nX-Evil: yes\r\n\r\n<script>alert(1)</script>';
    const { app, person, add } = await ground(server);
    // New names are refused; an older one may have such characters.
    await queryDatabase(server, 'update svc.apps set name = $1 where id = $2', [name, app.id]);
    await add();
    const mail = await mailTo(person);
    const names = mail.headers.map(([each]) => each);
    expect(names.filter((each) => ['bcc', 'x-evil'].includes(each))).toEqual([]);
    expect(mail.header('subject')).toMatch(/^You are a co-owner of Shop Bcc: eve@example\.test X-Evil: yes/);
    expect(mail.text).not.toContain('<script>');
    expect(smtp.mails().filter(({ to }) => to.includes('eve'))).toEqual([]);
  });

  test('a preview sends nothing, and suspended people get nothing', async () => {
    const previewed = await ground(server);
    expect((await previewed.add('?dry_run=true')).status).toBe(200);
    const suspended = await ground(server);
    await suspended.add();
    await mailTo(suspended.person);
    await admin(server, ['users', 'suspend', suspended.person.id]);
    const { tenant, app, person } = suspended;
    const next = await newPerson(server, { tenant: tenant.id, role: 'tenant_member' });
    // All owners of the app get this notification; its last e-mail shows that the others were handled.
    const handed = await tenant.member.call('POST', `${tenant.base}/apps/${app.id}/ownership/transfer`, {
      to: next.id,
    });
    expect(handed.status).toBe(200);
    await mailTo(next);
    expect(mailsTo(person).map((mail) => mail.header('subject'))).toEqual(['You are a co-owner of Web shop']);
    expect(mailsTo(previewed.person)).toEqual([]);
    expect((await listOf(previewed.tenant, previewed.person)).items).toEqual([]);
  });

  test('the doctor reports whether the mail server works', async () => {
    const doctor = async (env: Record<string, string>) => {
      const ran = await run([join(root, 'svc-admin'), 'doctor', '--json'], {
        env: { ...server.env, ...env },
      });
      const { checks } = ran.json<{ checks: { name: string; status: string; detail: string }[] }>();
      return checks.find(({ name }) => name === 'mail');
    };
    expect(await doctor({})).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('svc@mail.example'),
    });
    const broken = await doctor({ SVC_SMTP_URL: 'smtp://svc:a-secret-word@127.0.0.1:1' });
    expect(broken).toMatchObject({ status: 'problem', detail: expect.stringContaining('127.0.0.1:1') });
    expect(JSON.stringify(broken)).not.toContain('a-secret-word');
  });

  test('an unavailable mail server fails no request, and gets the e-mails when it is back', async () => {
    const { tenant, person, add } = await ground(server);
    await smtp.stop();
    expect((await add()).status).toBe(201);
    const [notification] = (await listOf(tenant, person)).items;
    expect(notification?.kind).toBe('co_owner_added');
    await until('it was tried', async () => (await failures(tenant)).length > 0, 60_000);
    smtp = await startSmtp({ port: smtp.port });
    const mail = await mailTo(person);
    expect(mail.header('message-id')).toContain(notification?.id ?? 'an id');
  });
});
