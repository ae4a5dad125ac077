import type { Logger } from 'pino';
import { createListenConnection, type Invalidation, type ListenConnection } from '../../core/invalidation.ts';
import { fail } from '../../core/problem.ts';
import type { AppRows, RowPool } from '../../drivers/row-database/row-pool.ts';
import { newChangesSql, snapshotSql } from './feed-changes.ts';

export interface Snapshot {
  text: string;
  takenAt: number;
}

export interface Follower {
  userId: string;
  advance(to: Snapshot, since: string | null): void;
  checkAccess(): Promise<void>;
  end(): void;
}

export interface FollowedTable {
  id: string;
  appId: string;
  log: string;
}

export type FeedHub = ReturnType<typeof createFeedHub>;

const channel = 'svc_rows_changed';
const followersMax = 2_000;
const followersPerUserMax = 100;
/** Finds changes whose notification was lost, and those by a cascade of another table. */
const pollMs = 1_000;
const checkMs = 400;
const notifyMs = 25;
const reconnectMs = 1_000;

/** Writers notify other servers after the commit, at most every 25 ms for an app: within it, all commits would wait for each other. */
export function createFeedHub(options: {
  rowDb: RowPool;
  url: string;
  invalidation: Pick<Invalidation, 'onChange'>;
  log: Logger;
}) {
  const { rowDb, log } = options;
  const tables = new Map<string, TableFeed>();
  let isClosed = false;
  let polling: Timer | undefined;
  let checking: Timer | undefined;
  let listener: ListenConnection | null = null;
  const followers = () => [...tables.values()].flatMap((table) => [...table.followers]);

  function wakeApp(appId: string | undefined): void {
    for (const table of tables.values()) if (appId === undefined || table.appId === appId) table.wake();
  }

  function checkAll(): void {
    for (const follower of followers()) void follower.checkAccess();
  }

  function start(): void {
    polling ??= setInterval(() => wakeApp(undefined), pollMs);
    checking ??= setInterval(checkAll, checkMs);
    if (!listener) void listen();
  }

  function stop(): void {
    clearInterval(polling);
    clearInterval(checking);
    polling = checking = undefined;
    const connection = listener;
    listener = null;
    void connection?.close();
  }

  async function listen(): Promise<void> {
    const connection = createListenConnection({
      url: options.url,
      name: 'svc feeds',
      channel,
      onNotification: wakeApp,
      onLost() {
        if (listener !== connection) return;
        listener = null;
        setTimeout(() => {
          if (!isClosed && tables.size > 0 && !listener) void listen();
        }, reconnectMs);
      },
    });
    listener = connection;
    try {
      await connection.open();
      wakeApp(undefined);
    } catch (error) {
      log.warn({ err: error }, 'listening for changes of rows failed');
    }
  }

  const notifying = new Map<string, { again: boolean }>();

  function wrote(appId: string): void {
    if (isClosed) return;
    wakeApp(appId);
    const pending = notifying.get(appId);
    if (pending) {
      pending.again = true;
      return;
    }
    const state = { again: false };
    notifying.set(appId, state);
    rowDb
      .of(appId)
      .run('write', `select pg_notify('${channel}', $1)::text`, [appId])
      .catch(() => {});
    setTimeout(() => {
      notifying.delete(appId);
      if (state.again) wrote(appId);
    }, notifyMs);
  }

  options.invalidation.onChange(() => {
    if (tables.size > 0) setTimeout(checkAll, 0);
  });

  return {
    wrote,
    join(table: FollowedTable, follower: Follower): () => void {
      const all = followers();
      if (isClosed || all.length >= followersMax)
        throw fail('unavailable', { detail: 'Too many change feeds are open. Try again later.' });
      if (all.filter(({ userId }) => userId === follower.userId).length >= followersPerUserMax)
        throw fail('unavailable', {
          detail: `You have ${followersPerUserMax} open change feeds. Close one.`,
        });
      let feed = tables.get(table.id);
      if (!feed) {
        feed = createTableFeed(rowDb.of(table.appId), table, log);
        tables.set(table.id, feed);
      }
      const joined = feed;
      joined.followers.add(follower);
      start();
      return () => {
        joined.followers.delete(follower);
        if (joined.followers.size > 0) return;
        tables.delete(table.id);
        if (tables.size === 0) stop();
      };
    },
    close(): void {
      isClosed = true;
      for (const follower of followers()) follower.end();
      stop();
    },
  };
}

interface TableFeed {
  appId: string;
  followers: Set<Follower>;
  wake(): void;
}

function createTableFeed(db: AppRows, { appId, log: table }: FollowedTable, log: Logger): TableFeed {
  const followers = new Set<Follower>();
  let last: string | null = null;
  let isRunning = false;
  let isWoken = false;

  async function look(): Promise<void> {
    const { text, values } = last === null ? { text: snapshotSql, values: [] } : newChangesSql(table, last);
    const [row = []] = (await db.run('point', text, values)).rows;
    const [snapshot, takenAt, hasNew] = row;
    if (!snapshot) return;
    const since = hasNew === 'false' ? last : null;
    last = snapshot;
    for (const follower of followers) follower.advance({ text: snapshot, takenAt: Number(takenAt) }, since);
  }

  async function run(): Promise<void> {
    isRunning = true;
    while (isWoken && followers.size > 0) {
      isWoken = false;
      await look().catch((error: unknown) => log.warn({ err: error }, 'reading changes of rows failed'));
    }
    isRunning = false;
  }

  return {
    appId,
    followers,
    wake() {
      isWoken = true;
      if (!isRunning) void run();
    },
  };
}
