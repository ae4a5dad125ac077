import { expect, test } from 'bun:test';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isOnCitus } from '../support/citus.ts';
import { openServerDatabase } from '../support/database.ts';
import { bearer, type Person } from '../support/people.ts';
import { Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';
import { repeatConcurrently, until } from '../support/until.ts';
import { allMarks } from './hostile-rows.ts';

/** A server whose PostgreSQL logs every statement, with its values beside it. */
export async function startLogged(): Promise<RunningServer> {
  const server = await startEmbedded();
  const database = openServerDatabase(server);
  await database.query("alter system set log_statement = 'all'");
  // Logged as well, to prove that values were sent.
  for (const role of ['svc_rows', 'svc_control']) {
    await database.query(`alter role ${role} set log_error_verbosity = 'default'`);
  }
  await database.query('select pg_reload_conf()');
  await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where usename in ('svc_rows', 'svc_control')",
  );
  await database.close();
  await until('it is ready again', async () => (await fetch(`${server.baseUrl}/readyz`)).status === 200);
  return server;
}

export interface Sent {
  method?: string;
  path: string;
  body?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
}

/** Failures: a server error, or an error without a problem document. */
async function faultOf(
  server: RunningServer,
  owner: Pick<Person, 'token'>,
  { method = 'GET', path, body, headers = {} }: Sent,
  statuses: Tally,
) {
  const response = await fetch(server.baseUrl + path, {
    method,
    headers: { ...bearer(owner), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  statuses.add(response.status);
  // A feed does not end by itself.
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return null;
  }
  const text = await response.text();
  const isProblem = response.headers.get('content-type') === 'application/problem+json';
  const isFault =
    response.status >= 500 || (response.status >= 400 && (!isProblem || !JSON.parse(text).code));
  return isFault
    ? { status: response.status, text: text.slice(0, 200), method, path, body: String(body) }
    : null;
}

/** Sends so many requests; none is answered with a fault. */
export async function fuzz(
  { server, owner }: { server: RunningServer; owner: Pick<Person, 'token'> },
  name: string,
  count: number,
  make: () => Sent,
): Promise<Tally> {
  const statuses = new Tally();
  const faults: unknown[] = [];
  let sent = 0;
  await repeatConcurrently(count, 12, async () => {
    if (faults.length >= 5) return;
    sent++;
    const fault = await faultOf(server, owner, make(), statuses);
    if (fault) faults.push(fault);
  });
  console.log(`rows fuzz: ${sent} ${name}: ${statuses}; 5xx: ${faults.length}`);
  expect(faults).toEqual([]);
  return statuses;
}

/** A fragment is not sent; other invalid characters are refused by the client. */
export const escapeSearch = (search: string) => search.replaceAll('#', '%23').replace(/\s/g, '+');

/** Tests at the end of a file: what arrived at PostgreSQL, and what the server logged. */
export function checkLogs(
  of: () => RunningServer,
  { statements, marked }: { statements: number; marked: number },
): void {
  test('no statement that PostgreSQL was sent holds a value of a user: values travel beside it', async () => {
    // The marker of this request follows all earlier entries in the log.
    const database = openServerDatabase(of());
    const end = `the end ${Bun.randomUUIDv7()}`;
    await database.query(`select '${end}'`);
    await database.close();
    const log = join(of().dataDir, 'postgres.log');
    await until('the log is written', async () => {
      const { size } = await stat(log);
      return (
        await Bun.file(log)
          .slice(Math.max(0, size - 100_000), size)
          .text()
      ).includes(end);
    });
    const found = { statements: 0, parameters: 0, marksInParameters: 0 };
    const hits: string[] = [];
    for await (const { kind, text } of entriesOf(log)) {
      if (kind === 'statement') {
        found.statements++;
        if (allMarks.some((mark) => text.includes(mark))) hits.push(text.slice(0, 300));
      } else if (kind === 'parameters') {
        found.parameters++;
        if (allMarks.some((mark) => text.includes(mark))) found.marksInParameters++;
      }
    }
    console.log(
      `rows fuzz: ${found.statements} statements in the log, ${found.marksInParameters} with marked values beside them; in their text: ${hits.length}`,
    );
    expect(hits.slice(0, 5)).toEqual([]);
    // Otherwise nothing was checked.
    expect(found.statements).toBeGreaterThan(statements);
    // The log of Citus is another server's.
    if (!isOnCitus) expect(found.marksInParameters).toBeGreaterThan(marked);
  });

  test('no fault was met on the way', () => {
    const faults = of()
      .output()
      .split('\n')
      .filter((line) => line.includes('internal server error'));
    expect(faults.map((line) => JSON.parse(line).err)).toEqual([]);
  });
}

interface Entry {
  kind: 'statement' | 'parameters' | 'other';
  text: string;
}

/** Entries of PostgreSQL's log; an entry continues on lines that begin with a tab. */
async function* entriesOf(log: string): AsyncGenerator<Entry> {
  let entry: string[] = [];
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of Bun.file(log).stream()) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('\t') && entry.length > 0) {
        yield entryOf(entry.join('\n'));
        entry = [];
      }
      entry.push(line);
    }
  }
  if (entry.length > 0) yield entryOf(entry.join('\n'));
}

function entryOf(text: string): Entry {
  if (/ LOG: {2}(statement|execute [^:]*|parse [^:]*|bind [^:]*): /.test(text))
    return { kind: 'statement', text };
  if (/ DETAIL: {2}[Pp]arameters: /.test(text)) return { kind: 'parameters', text };
  return { kind: 'other', text };
}
