import { describe, expect, test } from 'bun:test';
import { deletedAppRetentionDays } from '@svc/contract/app-life.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import type { AppMutationCtx } from '../../core/context.ts';
import { tableRoutes } from '../../data/routes.ts';
import { msUntilRefused, useServer } from '../../identity/provider/testing.ts';
import { codeOf, testMutation } from '../../testing.ts';
import { archiveApp, deleteApp, purgeApp } from './lifecycle.ts';
import { type LifecycleWorld, lifecycleWorld, startAppServer } from './testing.ts';

const { database, server } = useServer((opened) => startAppServer(opened, tableRoutes));
const world = () => lifecycleWorld(database, server);

const outcome = ({ status, body }: { status: number; body: Record<string, unknown> }) =>
  status === 200 ? `${body.record}/${body.runtime}${body.changed === false ? ' unchanged' : ''}` : body.code;

describe('archive and reactivate', () => {
  test.each([
    ['none', 'none'],
    ['running', 'suspended'],
    ['suspended', 'suspended'],
  ])('an app that is %s is archived as %s, and reactivated as such', async (runtime, then) => {
    const t = await world();
    await t.set({ runtime });
    expect(outcome(await t.move('archive'))).toBe(`archived/${then}`);
    expect(outcome(await t.move('archive', 'coOwner'))).toBe(`archived/${then} unchanged`);
    const { body } = await t.as('owner', 'GET', t.path);
    expect(body).toMatchObject({ deployment_status: 'archived', operating_status: 'archived' });
    expect(outcome(await t.move('reactivate', 'admin'))).toBe(`active/${then}`);
    expect(outcome(await t.move('reactivate'))).toBe(`active/${then} unchanged`);
    const actions = ['apps.create', 'coOwners.add', 'apps.archive', 'apps.reactivate'];
    expect(await t.auditActions()).toEqual(actions);
  });
});

describe('suspend and resume', () => {
  test('stop and start a deployed app, each once', async () => {
    const t = await world();
    await t.set({ runtime: 'running', is_deployed: true });
    expect(outcome(await t.move('resume'))).toBe('active/running unchanged');
    expect(outcome(await t.move('suspend', 'admin'))).toBe('active/suspended');
    expect(outcome(await t.move('suspend'))).toBe('active/suspended unchanged');
    expect(outcome(await t.move('resume', 'coOwner'))).toBe('active/running');
  });

  test('refuse an app that is not deployed or is archived', async () => {
    const t = await world();
    expect(outcome(await t.move('suspend'))).toBe('nothing_deployed');
    expect(outcome(await t.move('resume'))).toBe('no_successful_deployment');
    await t.set({ runtime: 'suspended' });
    expect(outcome(await t.move('resume'))).toBe('no_successful_deployment');
    await t.set({ is_deployed: true, record: 'archived' });
    for (const move of ['suspend', 'resume']) {
      expect(outcome(await t.move(move))).toBe('invalid_state_transition');
    }
    expect(await t.stored()).toMatchObject({ record: 'archived', runtime: 'suspended' });
  });

  test("an app whose tier is above the tenant's lowered maximum stays suspended", async () => {
    const t = await world();
    await t.set({ runtime: 'suspended', is_deployed: true, resource_preset: 'L' });
    await sql`update svc.tenants set max_resource_tier = 'M' where id = ${t.tenant.id}`.execute(database.db);
    const { status, body } = await t.move('resume');
    expect([status, body.code]).toEqual([422, 'resource_tier_exceeded']);
    expect(await t.stored()).toMatchObject({ runtime: 'suspended' });
  });
});

describe('delete and restore', () => {
  test.each([
    ['active', 'none', 'none'],
    ['active', 'running', 'suspended'],
    ['archived', 'suspended', 'suspended'],
  ])('an app that was %s and %s is restored as such, %s', async (record, runtime, then) => {
    const t = await world();
    await t.set({ record, runtime });
    const deleted = await t.move('delete');
    expect(outcome(deleted)).toBe(`deleted/${then}`);
    const kept = Date.parse(deleted.body.purge_after) - Date.parse(deleted.body.deleted_at);
    expect(kept).toBe(deletedAppRetentionDays * 24 * 3600 * 1000);
    expect(outcome(await t.move('delete', 'admin'))).toBe(`deleted/${then} unchanged`);
    const restored = await t.move('restore');
    expect(outcome(restored)).toBe(`${record}/${then}`);
    expect(restored.body).toMatchObject({ deleted_at: null, purge_after: null });
    expect(outcome(await t.move('restore'))).toBe(`${record}/${then} unchanged`);
    expect(await t.stored()).toMatchObject({ deleted_from: null });
  });

  test('only the owner and admins can see, restore and purge a deleted app', async () => {
    const t = await world();
    await sql`update svc.apps set visibility = 'public' where id = ${t.app.id}`.execute(database.db);
    expect((await t.as('member', 'GET', t.path)).status).toBe(200);
    expect((await t.move('delete')).status).toBe(200);
    for (const who of ['owner', 'admin'] as const) {
      expect((await t.as(who, 'GET', t.path)).body).toMatchObject({ id: t.app.id, record: 'deleted' });
      for (const move of ['archive', 'reactivate', 'suspend', 'resume']) {
        expect([who, move, outcome(await t.move(move, who))]).toEqual([who, move, 'not_found']);
      }
      for (const below of ['/tables', '/co-owners']) {
        expect([who, below, (await t.as(who, 'GET', t.path + below)).status]).toEqual([who, below, 404]);
      }
    }
    for (const who of ['coOwner', 'member'] as const) {
      expect([who, (await t.as(who, 'GET', t.path)).status]).toEqual([who, 404]);
      for (const move of ['archive', 'delete', 'restore', 'purge']) {
        expect([who, move, outcome(await t.move(move, who))]).toEqual([who, move, 'not_found']);
      }
    }
  });

  test('co-owners and members can neither delete, restore nor purge an app', async () => {
    const t = await world();
    for (const move of ['delete', 'restore', 'purge']) {
      expect([move, outcome(await t.move(move, 'coOwner'))]).toEqual([move, 'forbidden']);
      expect([move, outcome(await t.move(move, 'member'))]).toEqual([move, 'not_found']);
    }
  });
});

describe('a preview', () => {
  test('shows the result of each move, is repeatable, and changes nothing', async () => {
    const t = await world();
    await t.set({ runtime: 'running', is_deployed: true });
    const before = await t.stored();
    const changes = async (move: string) => {
      const first = await t.move(move, 'owner', '?dry_run=true');
      const second = await t.move(move, 'owner', '?dry_run=true');
      expect([move, second.body.plan.fingerprint]).toEqual([move, first.body.plan.fingerprint]);
      expect(first.body.plan.target).toEqual({ kind: 'app', id: t.app.id, name: t.app.slug });
      return first.body.plan;
    };
    expect((await changes('archive')).changes).toMatchObject([
      { path: 'record', before: 'active', after: 'archived' },
      { path: 'runtime', before: 'running', after: 'suspended' },
    ]);
    expect((await changes('suspend')).changes).toMatchObject([{ path: 'runtime', after: 'suspended' }]);
    expect((await changes('resume')).changes).toEqual([]);
    const deletes = await changes('delete');
    expect(deletes.changes).toMatchObject([
      { path: 'record', before: 'active', after: 'deleted' },
      { path: 'runtime', before: 'running', after: 'suspended' },
      { path: 'purged_after_days', before: null, after: deletedAppRetentionDays },
    ]);
    expect(deletes.warnings.join(' ')).toContain(`svc apps restore ${t.app.slug}`);
    expect(await t.stored()).toEqual(before);
    expect(await t.auditActions()).toEqual(['apps.create', 'coOwners.add']);
  });
});

describe('concurrent changes', () => {
  const rounds = async (round: (t: LifecycleWorld) => Promise<void>) => {
    for (let at = 0; at < 4; at++) await round(await world());
  };

  test('archive and delete: the app is deleted, and restored to its earlier state', () =>
    rounds(async (t) => {
      const [archived, deleted] = await Promise.all([t.move('archive'), t.move('delete', 'admin')]);
      expect(['archived/none', 'not_found']).toContain(outcome(archived) as string);
      expect(outcome(deleted)).toBe('deleted/none');
      const before = archived.status === 200 ? 'archived' : 'active';
      expect(outcome(await t.move('restore'))).toBe(`${before}/none`);
    }));

  test('two deletions: one succeeds, and the other changes nothing', () =>
    rounds(async (t) => {
      const answers = await Promise.all([t.move('delete'), t.move('delete', 'admin')]);
      expect(answers.map(outcome).sort()).toEqual(['deleted/none', 'deleted/none unchanged']);
      expect((await t.auditActions()).filter((action) => action === 'apps.delete')).toHaveLength(1);
    }));

  test('adding a co-owner and delete: the co-owner is refused, or exists after a restore', () =>
    rounds(async (t) => {
      const body = { user_id: t.people.member.userId };
      const [added, deleted] = await Promise.all([
        t.as('owner', 'POST', `${t.path}/co-owners`, body),
        t.move('delete', 'admin'),
      ]);
      expect([201, 404]).toContain(added.status);
      expect(deleted.status).toBe(200);
      expect((await t.move('restore')).status).toBe(200);
      const owners = () => t.as('owner', 'GET', `${t.path}/co-owners`);
      expect(await msUntilRefused([async () => (await owners()).status !== 200])).toBeLessThan(
        patientMs(1_000),
      );
      expect((await owners()).body.total).toBe(added.status === 201 ? 3 : 2);
    }));

  test('purge and restore: one succeeds, and the other is refused', () =>
    rounds(async (t) => {
      await t.move('delete');
      const [purged, restored] = await Promise.all([t.move('purge'), t.move('restore', 'admin')]);
      if (purged.status === 200) {
        expect([outcome(restored), await t.stored()]).toEqual(['not_found', undefined]);
      } else {
        expect([purged.body.code, outcome(restored)]).toEqual(['not_deleted', 'active/none']);
      }
    }));

  test('a former owner whose request waited can neither archive, delete nor purge the app', async () => {
    const t = await world();
    await sql`update svc.apps set owner_id = ${t.people.member.userId} where id = ${t.app.id}`.execute(
      database.db,
    );
    const context = { tenant: { ...t.tenant, role: 'tenant_member' as const }, app: t.app };
    const late = (verb: (ctx: AppMutationCtx) => Promise<unknown>) =>
      codeOf(testMutation(database.db, t.people.owner, (ctx) => verb(ctx), { context }));
    for (const verb of [archiveApp, deleteApp, purgeApp]) expect(await late(verb)).toBe('not_found');
    await sql`update svc.apps set visibility = 'public' where id = ${t.app.id}`.execute(database.db);
    for (const verb of [archiveApp, deleteApp, purgeApp]) expect(await late(verb)).toBe('forbidden');
  });
});
