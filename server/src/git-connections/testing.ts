import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { findApp } from '../apps/find-app.ts';
import { newApp } from '../apps/testing.ts';
import type { GitHost, Repository } from '../drivers/git-host/git-host.ts';
import { createApi } from '../plumbing/api.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import { newTenant, newUser, silentLog, type TestDatabase } from '../testing.ts';
import type { GitParts } from './git-parts.ts';
import { makeHook, makeHookTopic } from './make-hook.ts';
import { createWebhookReceiver } from './receive-webhook.ts';
import { removeHook, removeHookTopic } from './remove-hook.ts';
import { gitConnectionRoutes } from './routes.ts';

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

export interface GitWorld {
  parts: GitParts;
  tenant: TenantAccess;
  people: Record<'owner' | 'coOwner' | 'admin' | 'member', Caller>;
  app: AppAccess;
  /** Below the tenant, as the owner unless somebody else is named. */
  call(method: string, path: string, body?: unknown, by?: Caller): Promise<Answer>;
  /** Below the app's `git`. */
  git(method: string, path?: string, body?: unknown, by?: Caller): Promise<Answer>;
  /** Carries out what was queued for hooks; those that failed are told. */
  settle(): Promise<string[]>;
  newApp(): Promise<AppAccess>;
}

export const testBaseUrl = 'http://svc.example.test';

/** An app of the test's own. */
export async function gitWorld(
  database: TestDatabase,
  gitHost: GitHost,
  { now = () => new Date() }: { now?: () => Date } = {},
): Promise<GitWorld> {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const parts: GitParts = { db, gitHost, baseUrl: testBaseUrl, now };
  const call: GitWorld['call'] = (method, path, body, by = owner) => {
    const role: TenantAccess['role'] = by === admin ? 'tenant_admin' : 'tenant_member';
    return callAs(database, parts, { by, tenant: { ...tenant, role } }, { method, path, body });
  };
  const effects: Record<string, Effect> = {
    [makeHookTopic]: makeHook(parts),
    [removeHookTopic]: removeHook(parts),
  };
  return {
    ...{ parts, tenant, people: { owner, coOwner, admin, member }, app, call },
    git: (method, path = '', body = undefined, by = owner) =>
      call(method, `/apps/${app.slug}/git${path}`, body, by),
    newApp: () => newApp(db, tenant, owner),
    settle: async () => {
      const { rows } = await sql<{ id: string; topic: string; payload: Record<string, unknown> }>`
        select id, topic, payload from svc.outbox
        where done_at is null and (topic = ${removeHookTopic}
          or (topic = ${makeHookTopic} and payload->>'tenant_id' = ${tenant.id}))
        order by created_at, id`.execute(db);
      const failed: string[] = [];
      for (const { id, topic, payload } of rows) {
        const effect = effects[topic];
        if (!effect) continue;
        const isDone = await effect(payload).then(
          () => true,
          (error: unknown) => !failed.push(String(error)),
        );
        if (isDone) await sql`update svc.outbox set done_at = now() where id = ${id}`.execute(db);
      }
      return failed;
    },
  };
}

/** As the HTTP layer does. */
export async function callAs(
  database: TestDatabase,
  parts: GitParts,
  { by, tenant }: { by: Caller; tenant: TenantAccess },
  { method, path, body }: { method: string; path: string; body?: unknown },
): Promise<Answer> {
  const { db } = database;
  const api = createApi(
    {
      ...{ db, outbox: rowsOnly, now: parts.now, rows: database.rows, checkAnswers: true },
      authenticate: async () => by,
      tenantAccess: async () => tenant,
      appAccess: (access, ref) => findApp(db, access, { ref, caller: by }),
    },
    gitConnectionRoutes(parts),
  );
  const request = new Request(`${testBaseUrl}/api/v1/tenants/${tenant.slug}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return answerOf(() => api(request, new URL(request.url), info()));
}

const info = () => ({
  ...{ requestId: 'test', log: silentLog, setRoute: () => {}, clientAddress: '127.0.0.1' },
  deadline: new AbortController().signal,
});

async function answerOf(ask: () => Promise<Response>): Promise<Answer> {
  const response = await ask().catch((error: unknown) => {
    if (error instanceof Failure) return problemResponse(error, 'test');
    throw error;
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** What the git host would send, before it is signed. */
export interface Told {
  repo: Pick<Repository, 'id' | 'owner' | 'name'>;
  branch?: string;
  ref?: string;
  commit?: string;
  deleted?: boolean;
  /** Whose account pushed, by its number. */
  sender?: unknown;
}

export const newCommit = () => Bun.SHA1.hash(Bun.randomUUIDv7(), 'hex');

export function pushBody({ repo, branch = 'main', ref, commit, deleted = false, sender }: Told): string {
  return JSON.stringify({
    ref: ref ?? `refs/heads/${branch}`,
    ...{ before: newCommit(), after: commit ?? newCommit(), deleted },
    repository: { id: repo.id, full_name: `${repo.owner}/${repo.name}` },
    ...(sender === undefined ? {} : { sender: { id: sender, login: 'x' } }),
  });
}

export const signatureOf = (secret: string, body: string) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Sends it as it is. */
export function deliver(
  parts: GitParts,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<Answer> {
  const receive = createWebhookReceiver({ ...parts, outbox: rowsOnly, log: silentLog });
  const request = new Request(`${testBaseUrl}/webhooks/git-host`, { method: 'POST', body, headers });
  return answerOf(() => receive(request, new URL(request.url), info()));
}
