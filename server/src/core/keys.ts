import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Db } from './db.ts';
import type { Invalidation } from './invalidation.ts';
import { findMasterKeyId, type StoredValue, unwrapValue, wrapValue } from './master-key.ts';

/** A key that all servers of a database share. A rotation adds a generation; the previous one is accepted for a time. */
export interface Key<T = unknown> {
  name: string;
  kind: 'sealing' | 'signing' | 'secret';
  protects: string;
  create(previous: T | null): Promise<T> | T;
  /** How long the previous generation is accepted: the lifetime of what it signed or sealed outside the database. */
  acceptedSeconds: number;
  announcedSeconds: number;
  /** Sealed columns, `table.column`, with the SQL expression of the text that a value is bound to. */
  columns: Readonly<Record<string, string>>;
  replaceCopies?(db: Db, values: { previous: readonly T[]; current: T }): Promise<void>;
}

/** Every server has received the notification by then, or knows that it missed one. */
const noticeSeconds = 5;
/** Longer than any transaction that still writes with the previous generation. */
const acceptedSecondsMin = 3600;
/** Twice the `max-age` of published keys. */
const publishedSeconds = 600;

export function declareSealingKey(declared: Pick<Key, 'name' | 'protects' | 'columns'>): Key<string> {
  return {
    ...declared,
    kind: 'sealing',
    create: randomText,
    acceptedSeconds: acceptedSecondsMin,
    announcedSeconds: noticeSeconds,
  };
}

export function declareSigningKey<T>(
  declared: Pick<Key<T>, 'name' | 'protects' | 'create' | 'acceptedSeconds'>,
): Key<T> {
  return { ...declared, kind: 'signing', columns: {}, announcedSeconds: publishedSeconds };
}

export function declareKey<T = string>(
  declared: Pick<Key<T>, 'name' | 'protects' | 'acceptedSeconds' | 'replaceCopies'> &
    (T extends string ? Partial<Pick<Key<T>, 'create'>> : Pick<Key<T>, 'create'>),
): Key<T> {
  const create = declared.create ?? (randomText as unknown as Key<T>['create']);
  return { ...declared, create, kind: 'secret', columns: {}, announcedSeconds: noticeSeconds };
}

export function randomText(): string {
  return randomBytes(32).toString('base64url');
}

export interface LiveKey<T> {
  current(): T;
  accepted(): readonly T[];
}

export const fixedKey = <T>(value: T): LiveKey<T> => ({ current: () => value, accepted: () => [value] });

export interface Generation<T> {
  generation: number;
  value: T;
  createdAt: Date;
  activeAt: Date;
  masterKey: string | null;
}

interface KeyRow extends StoredValue {
  name: string;
  generation: number;
  created_at: Date;
  active_at: Date;
}

export function currentGeneration<G extends { activeAt: Date }>(
  newestFirst: readonly G[],
  now: number = Date.now(),
): G {
  const found = newestFirst.find(({ activeAt }) => activeAt.getTime() <= now) ?? newestFirst.at(-1);
  if (!found) throw new Error('A key has no generation.');
  return found;
}

export async function loadGenerations<T>(db: Db, key: Key<T>): Promise<Generation<T>[]> {
  const found = await listGenerations(db, key);
  if (found.length > 0) return found;
  await insertGeneration(db, key, { generation: 1, value: await key.create(null), announcedSeconds: 0 });
  // Read again: another process may have inserted its key first.
  return listGenerations(db, key);
}

export async function listGenerations<T>(db: Db, { name }: Key<T>): Promise<Generation<T>[]> {
  const { rows } = await sql<KeyRow>`
    select * from svc.key_generations where name = ${name} order by generation desc`.execute(db);
  return rows.map((row) => ({
    generation: row.generation,
    value: JSON.parse(unwrapValue(db, { ...row, boundTo: boundTo(row) })) as T,
    createdAt: row.created_at,
    activeAt: row.active_at,
    masterKey: row.master_key,
  }));
}

export async function insertGeneration<T>(
  db: Db,
  { name }: Key<T>,
  { generation, value, announcedSeconds }: { generation: number; value: T; announcedSeconds: number },
): Promise<boolean> {
  const stored = wrapValue(db, { text: JSON.stringify(value), boundTo: boundTo({ name, generation }) });
  const { numAffectedRows } = await sql`
    insert into svc.key_generations (name, generation, value, master_key, active_at)
    values (${name}, ${generation}, ${stored.value}, ${stored.master_key},
      now() + make_interval(secs => ${announcedSeconds}))
    on conflict do nothing`.execute(db);
  return numAffectedRows === 1n;
}

function boundTo({ name, generation }: Pick<KeyRow, 'name' | 'generation'>): string {
  return `${name} ${generation}`;
}

/** At the start of a server. Creates all keys that are missing, so that later reads write nothing. */
export async function prepareKeys(db: Db, keys: readonly Key[]): Promise<void> {
  await wrapKeys(db);
  const { rows } = await sql<{ name: string }>`select distinct name from svc.key_generations`.execute(db);
  const present = new Set(rows.map(({ name }) => name));
  await Promise.all(keys.filter(({ name }) => !present.has(name)).map((key) => loadGenerations(db, key)));
}

export async function wrapKeys(target: Db, source: Db = target): Promise<number> {
  const { rows } = await sql<KeyRow>`select * from svc.key_generations order by name, generation`.execute(
    target,
  );
  const targetId = findMasterKeyId(target);
  let changed = 0;
  for (const row of rows) {
    const opener = row.master_key === targetId ? target : source;
    const text = unwrapValue(opener, { ...row, boundTo: boundTo(row) });
    const stored = wrapValue(target, { text, boundTo: boundTo(row) });
    if (stored.master_key === row.master_key) continue;
    changed++;
    await sql`update svc.key_generations set value = ${stored.value}, master_key = ${stored.master_key}
      where name = ${row.name} and generation = ${row.generation} and value = ${row.value}`.execute(target);
  }
  return changed;
}

export async function verifyKeys(db: Db): Promise<{ total: number; encrypted: number }> {
  const { rows } = await sql<KeyRow>`select * from svc.key_generations`.execute(db);
  for (const row of rows) unwrapValue(db, { ...row, boundTo: boundTo(row) });
  return { total: rows.length, encrypted: rows.filter((row) => row.master_key !== null).length };
}

export async function loadKey<T>(db: Db, key: Key<T>): Promise<LiveKey<T>> {
  return liveKey(await loadGenerations(db, key));
}

function liveKey<T>(generations: readonly Generation<T>[]): LiveKey<T> {
  const accepted = generations.map(({ value }) => value);
  return { current: () => currentGeneration(generations).value, accepted: () => accepted };
}

export const keysTag = 'keys';
const retryMs = 1_000;

export interface KeyRing {
  follow<T>(key: Key<T>): Promise<LiveKey<T>>;
  stop(): void;
}

export function openKeyRing(deps: {
  db: Db;
  invalidation: Pick<Invalidation, 'onChange'>;
  log: Logger;
}): KeyRing {
  const { db, log } = deps;
  const reloads: (() => Promise<void>)[] = [];
  let changes = 0;
  let isStopped = false;
  let isDue = false;
  let isRunning = false;

  async function reload(): Promise<void> {
    isDue = true;
    if (isRunning) return;
    isRunning = true;
    while (isDue && !isStopped) {
      isDue = false;
      try {
        for (const each of reloads) await each();
      } catch (error) {
        isDue = true;
        log.warn({ err: error }, 'keys could not be read');
        await Bun.sleep(retryMs);
      }
    }
    isRunning = false;
  }

  deps.invalidation.onChange((tag) => {
    if (tag !== null && tag !== keysTag) return;
    changes++;
    void reload();
  });
  return {
    async follow<T>(key: Key<T>): Promise<LiveKey<T>> {
      const changesBefore = changes;
      let loaded = await loadKey(db, key);
      reloads.push(async () => {
        loaded = await loadKey(db, key);
      });
      if (changes !== changesBefore) void reload();
      return { current: () => loaded.current(), accepted: () => loaded.accepted() };
    },
    stop() {
      isStopped = true;
    },
  };
}
