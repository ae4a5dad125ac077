import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { type Db, sqlState } from '../../core/db.ts';
import { createLeasedWorker, type LeasedWorker } from '../../core/jobs.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';

export const hookKey = declareSealingKey({
  name: 'git_host.hook_key',
  protects: 'Secrets of webhooks at the built-in git host',
  columns: { 'git_host_hooks.secret_sealed': "'git-host hook of ' || repo_id" },
});

export const hookSecretContext = (repoId: number) => `git-host hook of ${repoId}`;

/** The platform's own hooks have a copy of its webhook secret. */
export async function replaceHookSecrets(
  db: Db,
  { previous, current }: { previous: readonly string[]; current: string },
): Promise<void> {
  const key = await sealingKey(db, hookKey);
  for (const row of await listHooksWithSecret(db)) {
    const boundTo = hookSecretContext(row.repo_id);
    if (!previous.includes(unseal(key, { sealed: row.secret_sealed, boundTo }))) continue;
    await replaceHookSecret(db, row, seal(key, { text: current, boundTo }));
  }
}

export interface HookRow {
  id: number;
  repo_id: number;
  url: string;
  secret_sealed: Buffer | null;
  content_type: 'json' | 'form';
  events: string[];
  is_active: boolean;
  created_at: Date;
}

interface DeliveryRow {
  id: string;
  hook_id: number;
  event: string;
  payload: string;
  attempts: number;
  status: number | null;
  next_try_at: Date | null;
  delivered_at: Date | null;
  created_at: Date;
}

type Tables = {
  git_host_hooks: HookRow;
  git_host_deliveries: DeliveryRow;
};

const hookTables = (db: Db) => db.withTables<Tables>();

export function listHookRows(db: Db, repoId: number): Promise<HookRow[]> {
  return hookTables(db)
    .selectFrom('git_host_hooks')
    .selectAll()
    .where('repo_id', '=', repoId)
    .orderBy('id')
    .execute();
}

export function findHookRow(db: Db, repoId: number, id: number): Promise<HookRow | undefined> {
  return hookTables(db)
    .selectFrom('git_host_hooks')
    .selectAll()
    .where((row) => row.and({ repo_id: repoId, id }))
    .executeTakeFirst();
}

export async function insertHookRow(db: Db, row: Omit<HookRow, 'id'>): Promise<HookRow | null> {
  const { rows } = await sql<HookRow>`
    insert into svc.git_host_hooks (repo_id, url, secret_sealed, content_type, events, is_active, created_at)
    values (${row.repo_id}, ${row.url}, ${row.secret_sealed}, ${row.content_type}, ${row.events},
      ${row.is_active}, ${row.created_at})
    on conflict (repo_id, url) do nothing
    returning *`.execute(db);
  return rows[0] ?? null;
}

export async function updateHookRow(
  db: Db,
  row: Pick<HookRow, 'id' | 'repo_id'>,
  set: Partial<Pick<HookRow, 'url' | 'secret_sealed' | 'content_type' | 'events' | 'is_active'>>,
): Promise<HookRow | undefined | 'taken'> {
  try {
    return await hookTables(db)
      .updateTable('git_host_hooks')
      .set({ ...set, url: set.url ?? sql<string>`url` })
      .where((hook) => hook.and({ repo_id: row.repo_id, id: row.id }))
      .returningAll()
      .executeTakeFirst();
  } catch (error) {
    if (sqlState(error) === '23505') return 'taken';
    throw error;
  }
}

async function listHooksWithSecret(db: Db) {
  const { rows } = await sql<{ id: number; repo_id: number; secret_sealed: Buffer }>`
    select id, repo_id, secret_sealed from svc.git_host_hooks where secret_sealed is not null order by id`.execute(
    db,
  );
  return rows;
}

async function replaceHookSecret(db: Db, hook: { id: number; secret_sealed: Buffer }, sealed: Buffer) {
  await sql`update svc.git_host_hooks set secret_sealed = ${sealed}
    where id = ${hook.id} and secret_sealed = ${hook.secret_sealed}`.execute(db);
}

export async function deleteHookRow(db: Db, repoId: number, id: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from svc.git_host_hooks where repo_id = ${repoId} and id = ${id}`.execute(db);
  return numAffectedRows === 1n;
}

export async function insertDelivery(
  db: Db,
  delivery: Pick<DeliveryRow, 'hook_id' | 'event' | 'payload'>,
  now: Date,
): Promise<string> {
  const id = Bun.randomUUIDv7();
  await sql`insert into svc.git_host_deliveries (id, hook_id, event, payload, next_try_at, created_at)
    values (${id}, ${delivery.hook_id}, ${delivery.event}, ${delivery.payload}, ${now}, ${now})`.execute(db);
  return id;
}

type ClaimedDelivery = DeliveryRow & Pick<HookRow, 'url' | 'secret_sealed' | 'content_type' | 'repo_id'>;

/** Leases the delivery that has been due the longest. First attempts of one hook are delivered in order, one at a time. */
async function claimDelivery(db: Db, leaseSeconds: number): Promise<ClaimedDelivery | null> {
  const { rows } = await sql<ClaimedDelivery>`
    with due as (
      select d.id from svc.git_host_deliveries d
      where d.next_try_at <= now()
        and not exists (select from svc.git_host_deliveries earlier
          where earlier.hook_id = d.hook_id and earlier.next_try_at is not null
            and earlier.attempts < 2 and earlier.id < d.id)
      order by d.next_try_at, d.id limit 1 for update skip locked
    )
    update svc.git_host_deliveries d
    set next_try_at = now() + make_interval(secs => ${leaseSeconds}), attempts = d.attempts + 1
    from due, svc.git_host_hooks h
    where d.id = due.id and h.id = d.hook_id
    returning d.*, h.url, h.secret_sealed, h.content_type, h.repo_id`.execute(db);
  return rows[0] ?? null;
}

async function hasDueDelivery(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from svc.git_host_deliveries where next_try_at < now() + interval '15 seconds' limit 1`.execute(
    db,
  );
  return rows.length > 0;
}

async function renewDelivery(db: Db, id: string, leaseSeconds: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.git_host_deliveries set next_try_at = now() + make_interval(secs => ${leaseSeconds})
    where id = ${id} and next_try_at is not null`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

async function finishDelivery(
  db: Db,
  id: string,
  { status, retryInSeconds }: { status: number | null; retryInSeconds: number | null },
): Promise<void> {
  const isDelivered = status !== null && status >= 200 && status < 300;
  await sql`
    update svc.git_host_deliveries set status = ${status},
      next_try_at = now() + make_interval(secs => ${retryInSeconds}::double precision),
      delivered_at = ${isDelivered ? sql`now()` : null}
    where id = ${id}`.execute(db);
}

export async function deleteOldDeliveries(db: Db, before: Date): Promise<void> {
  await sql`delete from svc.git_host_deliveries
    where next_try_at is null and created_at < ${before}`.execute(db);
}

const responseMsMax = 10_000;
const leaseSeconds = 15;
const retryDelaysSeconds = [1, 5, 30, 120, 600, 3600, 6 * 3600];

interface DeliveryDeps {
  db: Db;
  log: Logger;
  own: { baseUrl: string; internalUrl: string };
}

export function createHookDeliveries(deps: DeliveryDeps): LeasedWorker {
  return createLeasedWorker<ClaimedDelivery>({
    name: 'git-host.deliveries',
    log: deps.log,
    claim: () => claimDelivery(deps.db, leaseSeconds),
    hasOpenWork: () => hasDueDelivery(deps.db),
    renew: ({ id }) => renewDelivery(deps.db, id, leaseSeconds),
    async work(delivery, signal) {
      const status = await deliver(deps, delivery, signal);
      signal.throwIfAborted();
      const isDone = status !== null && status >= 200 && status < 300;
      const retryInSeconds = isDone ? null : (retryDelaysSeconds[delivery.attempts - 1] ?? null);
      await finishDelivery(deps.db, delivery.id, { status, retryInSeconds });
    },
    concurrencyMax: 8,
    pollMs: 1_000,
    renewMs: 5_000,
  });
}

async function deliver({ db, log, own }: DeliveryDeps, delivery: ClaimedDelivery, signal: AbortSignal) {
  const body = encodeBody(delivery);
  try {
    const answer = await fetch(toInternalUrl(delivery.url, own), {
      method: 'POST',
      // A redirect could lead to a host that the hook's owner did not name.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(responseMsMax)]),
      headers: { ...deliveryHeaders(delivery), ...(await signatureHeader(db, delivery, body)) },
      body,
    });
    await answer.body?.cancel();
    return answer.status;
  } catch (error) {
    if (!signal.aborted)
      log.info({ hook: delivery.hook_id, reason: String(error) }, 'webhook delivery failed');
    return null;
  }
}

function toInternalUrl(url: string, { baseUrl, internalUrl }: DeliveryDeps['own']): string {
  return url.startsWith(`${baseUrl}/`) ? internalUrl + url.slice(baseUrl.length) : url;
}

function encodeBody({ payload, content_type }: ClaimedDelivery): string {
  return content_type === 'json' ? payload : new URLSearchParams({ payload }).toString();
}

function deliveryHeaders(delivery: ClaimedDelivery): Record<string, string> {
  const form = 'application/x-www-form-urlencoded';
  return {
    'content-type': delivery.content_type === 'json' ? 'application/json' : form,
    'user-agent': 'GitHub-Hookshot/svc',
    'x-github-event': delivery.event,
    'x-github-delivery': delivery.id,
    'x-github-hook-id': String(delivery.hook_id),
    'x-github-hook-installation-target-id': String(delivery.repo_id),
    'x-github-hook-installation-target-type': 'repository',
  };
}

async function signatureHeader(db: Db, hook: ClaimedDelivery, body: string): Promise<Record<string, string>> {
  if (hook.secret_sealed === null) return {};
  const secret = unseal(await sealingKey(db, hookKey), {
    sealed: hook.secret_sealed,
    boundTo: hookSecretContext(hook.repo_id),
  });
  return { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
}
