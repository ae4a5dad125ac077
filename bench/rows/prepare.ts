import type { Cleanup } from './cleanup.ts';
import { columns, indexColumns, item, jsonLines, rowCount } from './dataset.ts';
import { createApp, createPat, createTable, type Server, startServer, type Table } from './start-server.ts';

export interface Prepared {
  server: Server;
  pat: string;
  reads: Table;
  inserts: Table;
  batches: Table;
}

export const linesPerBatch = 5_000;

export async function prepare(
  cleanup: Cleanup,
  env: Record<string, string> = {},
  tree?: string,
): Promise<Prepared> {
  const server = await startServer(cleanup, env, tree);
  const app = await createApp(server, 'bench');
  const pat = await createPat(server);
  const createItems = (name: string) => createTable(server, app, { name, columns, index: indexColumns });
  const reads = await createItems('items');
  const inserts = await createItems('inserts');
  const batches = await createItems('batches');
  for (let from = 1; from <= rowCount; from += linesPerBatch) {
    await sendBatch({ server, pat }, reads, jsonLines(from, linesPerBatch, 'numbered'));
  }
  await checkStoredRow({ server, pat, reads });
  await server.sql(`insert into ${inserts.physical} select * from ${reads.physical}`);
  await refill(server, reads, batches.physical);
  for (const table of [reads, inserts]) await server.sql(`vacuum analyze ${table.physical}`);
  await server.sql('checkpoint');
  return { server, pat, reads, inserts, batches };
}

export async function refill(server: Server, from: Table, physical: string): Promise<void> {
  await server.sql(`truncate ${physical}`);
  await server.sql(`insert into ${physical} select * from ${from.physical}`);
  await server.sql(`vacuum analyze ${physical}`);
  await server.sql('checkpoint');
}

export async function sendBatch(
  { server, pat }: Pick<Prepared, 'server' | 'pat'>,
  table: Table,
  lines: string,
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.port}${table.path}`, {
    method: 'POST',
    headers: { 'x-api-key': pat, 'content-type': 'application/x-ndjson' },
    body: lines,
  });
  const text = await response.text();
  if (response.status !== 201)
    throw new Error(`A batch failed with ${response.status}: ${text.slice(0, 500)}`);
}

async function checkStoredRow({
  server,
  pat,
  reads,
}: Pick<Prepared, 'server' | 'pat' | 'reads'>): Promise<void> {
  const expected = item(4711);
  const response = await fetch(`http://127.0.0.1:${server.port}${reads.path}/${expected.id}`, {
    headers: { 'x-api-key': pat },
  });
  const row = (await response.json()) as Record<string, unknown>;
  if (!Bun.deepEquals({ ...row, created_at: new Date(String(row.created_at)).toISOString() }, expected)) {
    throw new Error(`The response differs from the stored row: ${JSON.stringify(row)}`);
  }
}
