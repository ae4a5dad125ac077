import { beforeEach } from 'bun:test';
import { sql } from 'kysely';
import { newApp, newOwnedApp } from '../../apps/record/testing.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { callsAs } from '../../data/testing.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';
import { startTestGitHub } from '../../drivers/git/testing/github-server.ts';
import { testOrigin } from '../../identity/provider/testing.ts';
import type { TestDatabase } from '../../testing.ts';
import { linkEvents } from '../bootstrap/runs.ts';
import { pushDeployments } from '../deployments/queue-deployment.ts';
import { useEnv } from '../testing.ts';
import { createHook, createHookTopic, removeHook, removeHookTopic } from './hooks.ts';
import { gitConnectionRoutes } from './routes.ts';
import type { GitDeps } from './rules.ts';

export type GitTestEnv = Awaited<ReturnType<typeof newGitEnv>>;

export function useGitHub() {
  const { database, env: github } = useEnv(() => startTestGitHub());
  beforeEach(() => {
    github.server.instead = null;
  });
  return { database, github };
}

export async function newGitEnv(database: TestDatabase, gitHost: GitHost, { now = () => new Date() } = {}) {
  const { db, rows } = database;
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(db);
  const deps: GitDeps = { db, gitHost, baseUrl: testOrigin, now };
  const effects: Record<string, EffectHandler> = {
    [createHookTopic]: createHook(deps),
    [removeHookTopic]: removeHook(deps),
  };
  const routes = gitConnectionRoutes({
    ...deps,
    appsDomain: 'apps.example.test',
    linkEvents,
    pushDeployments,
  });
  const callAs = (by: Caller, access: TenantAccess, method: string, path: string, body?: unknown) =>
    callsAs({ db, rows, now }, routes, { caller: by, access })(method, path, body);
  const call = (method: string, path: string, body?: unknown, by: Caller = owner) => {
    const role = by === admin ? 'tenant_admin' : 'tenant_member';
    return callAs(by, { ...tenant, role }, method, path, body);
  };
  return {
    deps,
    tenant,
    people: { owner, coOwner, admin, member },
    app,
    callAs,
    call,
    git: (method: string, path = '', body?: unknown, by?: Caller) =>
      call(method, `/apps/${app.slug}/git${path}`, body, by),
    newApp: () => newApp(db, tenant, owner),
    async runEffects(): Promise<string[]> {
      const { rows } = await sql<{ id: string; topic: string; payload: Record<string, unknown> }>`
        select id, topic, payload from svc.outbox
        where done_at is null and (topic = ${removeHookTopic}
          or (topic = ${createHookTopic} and payload->>'tenant_id' = ${tenant.id}))
        order by created_at, id`.execute(db);
      const errors: string[] = [];
      for (const { id, topic, payload } of rows) {
        try {
          await effects[topic]?.(payload);
          await sql`update svc.outbox set done_at = now() where id = ${id}`.execute(db);
        } catch (error) {
          errors.push(String(error));
        }
      }
      return errors;
    },
  };
}
