import { fixedKey } from '../server/src/core/keys.ts';
import { createLog } from '../server/src/core/log.ts';
import { createMetrics } from '../server/src/core/metrics.ts';
import { sha256 } from '../server/src/core/values.ts';
import { createFeedPositions } from '../server/src/data/rows/feed-changes.ts';
import { createRowsHandler, type RowsDeps } from '../server/src/data/rows/handler.ts';
import { createCursors } from '../server/src/data/rows/plan.ts';
import { testTable } from '../server/src/data/rows/testing.ts';
import { createTenantLimit, type RowPool } from '../server/src/drivers/row-database/row-pool.ts';
import {
  createSharedStatements,
  type RunOptions,
} from '../server/src/drivers/row-database/shared-statements.ts';
import { createCallerLimit } from '../server/src/http/rate-limit.ts';
import { Connection } from '../server/src/http/raw-http/connection.ts';
import { createWriteBuffer } from '../server/src/http/raw-http/output-queue.ts';
import { createResponseHeads, startClock } from '../server/src/http/raw-http/response-heads.ts';
import { serve } from '../server/src/http/serve.ts';
import { createFindCredential } from '../server/src/identity/credentials/find-credential.ts';
import { makeToken } from '../server/src/identity/pats/find-pat.ts';

const connections = 32;
const requestsOfRound = 100_000;
const rounds = 12;

/**
 * What a point read costs the connection, the handler and the shared statements, with functions in place of sockets, caches and
 * the wire to the database. `npm run bench rows-path`.
 */
export async function main(): Promise<void> {
  const path = createPath();
  await path.run(requestsOfRound);
  await path.run(requestsOfRound);
  const figures: number[] = [];
  for (let round = 0; round < rounds; round++) {
    Bun.gc(true);
    const before = process.cpuUsage();
    await path.run(requestsOfRound);
    const { user, system } = process.cpuUsage(before);
    figures.push((user + system) / requestsOfRound);
  }
  figures.sort((a, b) => a - b);
  console.log(
    `point read: ${figures[0]?.toFixed(2)} us at least, ${figures[rounds / 2]?.toFixed(2)} in the median`,
  );
  process.exit(0);
}

function createPath() {
  const log = createLog({ level: 'info', write: (line) => process.stderr.write(line) });
  const id = '00000000-0000-7000-8000-00000000abcd';
  const secret = makeToken('svcpat_');
  const caller = {
    kind: 'pat' as const,
    userId: id,
    email: 'a@example.test',
    name: 'A',
    credentialId: sha256(secret),
    expiresAt: new Date(8e15),
    scope: { tenantId: 't', actions: ['read' as const], apps: [] },
  };
  const table = testTable();
  const access = {
    app: { id: 'a', slug: 'app', record: 'active' as const },
    table,
    exportTable: table,
    access: { actions: new Set(['read' as const]), alternatives: [], insertsOwn: false },
    until: Number.POSITIVE_INFINITY,
  };
  const shared = createSharedStatements({
    open: async () => answerAtOnce(dataRow(table.all.columns.length + 1)),
    statementMsMax: 10_000,
    readConnections: 1,
    writeConnections: 1,
    blockedMs: 50,
  });
  const limit = createTenantLimit();
  const rowDb: RowPool = {
    of(_, tenant = '') {
      const notUsed = () => Promise.reject(new Error('not used'));
      const options: RunOptions = { share: (work) => limit.run(tenant, work), runAlone: notUsed };
      return {
        run: (kind, text, values, receive) => shared.run({ kind, text, values, receive }, options),
        transaction: notUsed,
      };
    },
    open: shared.openReads,
    close() {},
  };
  const handler = createRowsHandler({
    rowDb,
    findCredential: createFindCredential({
      db: {} as never,
      cache: cacheOf({ caller, pat: null }),
      now: () => new Date(),
      origin: 'http://localhost',
      log,
    }),
    tableAccess: tableAccessOf(access),
    cursors: createCursors(fixedKey('bench')),
    accessLog: { recordRead: () => {}, flush: async () => {}, stop: async () => {} },
    feeds: { positions: createFeedPositions(fixedKey('bench')), epoch: '' },
    now: () => new Date(),
    callerLimit: createCallerLimit({ person: 1e12, token: 1e12, address: 1e12 }),
  } as unknown as RowsDeps);
  const general = serve({
    host: '127.0.0.1',
    port: 0,
    trustedProxies: { includes: () => false },
    handle: async () => new Response(),
    fastPath: () => handler,
    log,
    metrics: createMetrics(),
  });
  const clock = startClock(() => {});
  const state = {
    edge: () => null,
    rows: general.rows,
    accepts: () => true,
    scheme: 'http' as const,
    trustedProxies: { includes: () => false },
    passThroughClients: null,
    log,
    clock,
    heads: createResponseHeads(clock),
    writeBuffer: createWriteBuffer(),
    pendingResponses: 0,
    pendingResponsesMax: 2_000,
    isStopping: false,
  };
  const head = `Host: 127.0.0.1:4400\r\nX-Api-Key: ${secret}\r\n\r\n`;
  const request = Buffer.from(`GET /data/demo/app/pets/${id} HTTP/1.1\r\n${head}`);
  return {
    async run(count: number): Promise<void> {
      const done = Promise.withResolvers<void>();
      let left = count;
      for (let at = 0; at < connections; at++) {
        const waiting: Connection[] = [];
        const socket = {
          write(bytes: Uint8Array, from: number, length: number) {
            if (bytes[from + 9] !== 0x32)
              throw new Error(Buffer.from(bytes.subarray(from, from + length)).toString());
            if (--left === 0) done.resolve();
            if (left > 0) waiting.push(connection);
            if (waiting.length === 1) setImmediate(() => waiting.pop()?.data(Buffer.from(request)));
            return length;
          },
        };
        const connection = new Connection(socket as never, state, '127.0.0.1');
        connection.data(Buffer.from(request));
      }
      await done.promise;
    },
  };
}

function cacheOf<T>(value: T) {
  const entries = new Map<string, T>();
  return {
    get: async () => value,
    peek(key: string) {
      const known = entries.get(key) ?? null;
      if (known === null) entries.set(key, value);
      return known;
    },
    delete: () => {},
  };
}

function tableAccessOf<T>(value: T) {
  const cache = cacheOf(value);
  return {
    resolve(caller: { credentialId: string }, ref: { tenant: string; app: string; table: string }) {
      return cache.peek(`${caller.credentialId} ${ref.tenant}/${ref.app}/${ref.table}`) ?? cache.get();
    },
    invalidate: () => {},
  };
}

/** Answers all statements of a turn together. */
function answerAtOnce(row: Buffer) {
  const waiting: (() => void)[] = [];
  const query = (_text: string, _values: unknown, onRow?: (bytes: Buffer, start: number) => void) =>
    new Promise<{ rows: [] }>((resolve) => {
      waiting.push(() => {
        onRow?.(row, 0);
        resolve({ rows: [] });
      });
      if (waiting.length === 1)
        setImmediate(() => {
          for (const answer of waiting.splice(0)) answer();
        });
    });
  return {
    query,
    queryInGroup: query,
    groupWeight: 0,
    pending: 0,
    headMs: () => 0,
    isOpen: true,
    close() {},
  };
}

function dataRow(columns: number): Buffer {
  const values = Array.from({ length: columns }, () => {
    const value = Buffer.from('0000-some-value');
    const length = Buffer.alloc(4);
    length.writeInt32BE(value.length);
    return Buffer.concat([length, value]);
  });
  const count = Buffer.alloc(2);
  count.writeInt16BE(columns);
  return Buffer.concat([count, ...values]);
}
