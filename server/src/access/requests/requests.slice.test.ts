import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newTenant, testDeps, testMutation, useTestDatabase } from '../../testing.ts';
import { createConnector } from '../connectors/connectors.ts';
import { endDueRequests } from './end-requests.ts';
import { approveGrantRequest, getGrantRequest, requestGrant } from './requests.ts';
import { durationText, reminderTime } from './rules.ts';

const database = useTestDatabase();

async function world() {
  const { tenant, admin, member } = await newTenant(database.db);
  const asAdmin = { context: { tenant: { ...tenant, role: 'tenant_admin' as const } } };
  const asMember = { context: { tenant: { ...tenant, role: 'tenant_member' as const } } };
  const connector = await testMutation(
    database.db,
    admin,
    (ctx) =>
      createConnector(
        ctx,
        {
          name: 'Warehouse',
          slug: `w${Bun.randomUUIDv7().slice(-12)}`,
          kind: 'http',
          description: '',
          writable: false,
        },
        { findOwnedAppId: async () => null },
      ),
    asAdmin,
  );
  const request = async () =>
    (
      await testMutation(
        database.db,
        member,
        (ctx) =>
          requestGrant(ctx, {
            connector_id: connector.value.id,
            preset_id: 'reader',
            scope_resource_paths: [],
            duration_seconds: 3600,
            reason: 'x',
          }),
        asMember,
      )
    ).value;
  const approve = (id: string) =>
    testMutation(
      database.db,
      admin,
      (ctx) => approveGrantRequest(ctx, { request: id, reason: '', policies: [] }),
      asAdmin,
    );
  const show = async (id: string) =>
    (await testMutation(database.db, admin, (ctx) => getGrantRequest(ctx, { request: id }), asAdmin)).value;
  const kinds = async () =>
    (
      await sql<{ kind: string; path: string }>`select kind, path from svc.notifications
      where tenant_id = ${tenant.id} and user_id = ${member.userId} order by created_at, id`.execute(
        database.db,
      )
    ).rows;
  return { tenant, request, approve, show, kinds };
}

const runJob = () => endDueRequests({ db: database.db, ...testDeps });

test('a request that nobody decides ends after 7 days, by the clock and by the job', async () => {
  const { request, approve, show, kinds } = await world();
  const { id } = await request();
  await sql`update svc.grant_requests set expires_at = now() - interval '1 second' where id = ${id}`.execute(
    database.db,
  );
  expect((await show(id)).status).toBe('expired');
  expect(approve(id)).rejects.toThrow();
  await runJob();
  await runJob();
  expect(await kinds()).toMatchObject([{ kind: 'access_expired' }]);
  // The next request is not in the way of the expired one.
  expect((await request()).status).toBe('pending');
});

test('the requester is reminded once before the grant ends, with a link to the filled form', async () => {
  const { request, approve, kinds } = await world();
  const { id } = await request();
  await approve(id);
  await runJob();
  expect((await kinds()).map(({ kind }) => kind)).toEqual(['access_approved']);
  await sql`update svc.grant_requests set remind_at = now() where id = ${id}`.execute(database.db);
  await runJob();
  await runJob();
  const sent = await kinds();
  expect(sent.map(({ kind }) => kind)).toEqual(['access_approved', 'access_ending']);
  expect(sent[1]?.path).toMatch(/\/grants\/request\?connector=w\w+&preset=reader$/);
});

test('a revoked grant gives no reminder', async () => {
  const { request, approve, kinds } = await world();
  const { id } = await request();
  await approve(id);
  await sql`update svc.grants set status = 'revoked' where id =
    (select grant_id from svc.grant_requests where id = ${id})`.execute(database.db);
  await sql`update svc.grant_requests set remind_at = now() where id = ${id}`.execute(database.db);
  await runJob();
  expect((await kinds()).map(({ kind }) => kind)).toEqual(['access_approved']);
});

test('reminders come when a quarter of the time is left, at most a day before the end', () => {
  const start = new Date('2027-01-01T00:00:00Z');
  expect(reminderTime(start, 8 * 3600).toISOString()).toBe('2027-01-01T06:00:00.000Z');
  expect(reminderTime(start, 30 * 86_400).toISOString()).toBe('2027-01-30T00:00:00.000Z');
  expect([60, 90, 5400, 3600, 86_400].map(durationText)).toEqual([
    '1 minute',
    '90 seconds',
    '90 minutes',
    '1 hour',
    '1 day',
  ]);
});
