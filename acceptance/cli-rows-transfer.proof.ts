import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { expectFailure, type Ran, svcAs } from './support/commands.ts';
import { type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';
import { root, startServer, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';

const world = useFixture(rowsWorld);
const svc = svcAs(() => [world.tenant, world.owner]);

/** `svc` as the owner of the app. */
const envOf = ({ server, owner, tenant }: RowsWorld) => ({
  ...process.env,
  SVC_BASE_URL: server.baseUrl,
  SVC_TOKEN: owner.token,
  SVC_TENANT: tenant.slug,
  SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
});

const rows = (verb: string, table: TestTable, ...args: string[]): Promise<Ran> =>
  svc(['rows', verb, table.name, ...args, '--app', world.app.slug]);

describe('export and import', () => {
  const columns = [
    'name:text:nullable',
    'big:bigint:nullable',
    'small:int:nullable',
    'f:float:nullable',
    'ok:bool:nullable',
    'at:timestamptz:nullable',
    'ref:uuid:nullable',
    'j:jsonb:nullable',
  ];
  const values = [
    { name: 'Zoë "the" 🐈, and\nmore\r\n', big: '9223372036854775807', small: -2147483648, f: 0.1, ok: true },
    { name: '', big: '-9223372036854775808', f: 1e-300, ok: false, j: { a: [1, null, 'x,"y"'], '': {} } },
    { name: null, big: 9007199254740991, at: '2026-02-28T23:59:59.123456Z', j: 'a text' },
    { name: '=1+1', ref: '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c', j: '123' },
    { name: 'null', j: 12 },
    { name: ' spaced ', j: [] },
  ];
  const whole = async (table: TestTable) => {
    const { stdout } = await rows(
      'export',
      table,
      '--sort',
      'id',
      '--select',
      'id,name,big,small,f,ok,at,ref,j',
    );
    return stdout;
  };

  test.each(['jsonl', 'csv'])('as %s, an export can be imported unchanged', async (format) => {
    const [from, to] = [await world.table(columns), await world.table(columns)];
    await from.batch(values);
    await from.insert('{"j":{"n":123456789012345678901234567890.5}}');
    const file = join(temporaryFolder(), `rows.${format}`);
    const exported = await rows('export', from, '--to', file, '--json');
    expect([exported.code, exported.json()]).toMatchObject([0, { rows: 7, format }]);
    const imported = await rows('import', to, '--from-file', file, '--execute', '--json');
    expect([imported.code, imported.stderr, imported.json()]).toMatchObject([
      0,
      expect.stringContaining('created_at and updated_at'),
      { inserted: 7, ignored_columns: ['created_at', 'updated_at'] },
    ]);
    expect(await whole(to)).toBe(await whole(from));
    const twice = await rows(
      'import',
      to,
      '--from-file',
      file,
      '--on-conflict',
      'id',
      '--resolution',
      'ignore',
      '--execute',
      '--json',
    );
    expect(twice.json()).toMatchObject({ inserted: 0 });
    expect(await whole(to)).toBe(await whole(from));
  });

  test('an export of some rows and columns, of none, and to an unwritable file', async () => {
    const table = await world.table(columns);
    expect((await rows('export', table, '--format', 'csv')).stdout).toBe(
      'id,name,big,small,f,ok,at,ref,j,created_at,updated_at\r\n',
    );
    expect((await rows('export', table, '--json')).json()).toEqual([] as never);
    await table.batch(values);
    const some = await rows(
      'export',
      table,
      '--filter',
      'small=is.not_null',
      '--select',
      'who:name,small',
      '--format',
      'csv',
    );
    expect(some.stdout).toBe('who,small\r\n"Zoë ""the"" 🐈, and\nmore\r\n",-2147483648\r\n');
    await expectFailure(rows('export', table, '--to', '/nowhere/at/all.csv'), 1, 'output_failed');
    await expectFailure(rows('export', table, '--filter', 'nope=1'), 7, 'unknown_column');
    const kept = join(temporaryFolder(), 'kept.jsonl');
    await Bun.write(kept, 'before\n');
    await expectFailure(rows('export', table, '--filter', 'nope=1', '--to', kept), 7, 'unknown_column');
    expect(readFileSync(kept, 'utf8')).toBe('before\n');
  });

  test('a preview of an import stores nothing and describes the file', async () => {
    const table = await world.table(['name:text', 'age:int:nullable']);
    const file = join(temporaryFolder(), 'pets.csv');
    await Bun.write(file, '\uFEFFname,age\r\nRex,3\r\n"two\r\nlines",\r\n');
    const preview = await rows('import', table, '--from-file', file, '--json');
    expect(preview.json<{ plan: unknown }>().plan).toMatchObject({
      operation: 'rows.import',
      changes: [{ path: 'rows', after: 2, effect: 'create' }],
    });
    expect(await table.list()).toEqual([]);
    await Bun.write(file, 'name,age\nRex,old\n');
    const bad = await expectFailure(rows('import', table, '--from-file', file), 7, 'validation_failed');
    expect(bad.stderr).toContain('line 2: age');
    await Bun.write(file, 'name,nope\nRex,1\n');
    await expectFailure(rows('import', table, '--from-file', file), 7, 'validation_failed');
    await expectFailure(rows('import', table, '--from-file', '/no/such/file'), 2, 'file_unreadable');
  });

  test('bad lines stop an import before their batch, or are skipped and saved', async () => {
    const table = await world.table(['n:int', 'u:text:nullable']);
    await table.shape('POST', '/indexes', { columns: ['u'], unique: true });
    await table.insert({ n: 0, u: 'taken' });
    const lines = Array.from({ length: 50 }, (_, at) => `{"n":${at + 1}}`);
    lines[24] = '{"n":"x","nope":1}';
    lines[33] = '{broken';
    lines[36] = '{"n":37,"u":"taken"}';
    const file = join(temporaryFolder(), 'bad.jsonl');
    await Bun.write(file, `\n${lines.join('\n')}\n`);
    const line = ['--from-file', file, '--batch-size', '10', '--execute'];
    const stopped = await expectFailure(rows('import', table, ...line), 7, 'validation_failed');
    for (const part of ['line 26, n', 'line 26, nope', '--resume']) expect(stopped.stderr).toContain(part);
    expect((await rows('count', table)).stdout).toBe('20\n');
    await expectFailure(rows('import', table, ...line), 6, 'import_unfinished');
    const kept = join(temporaryFolder(), 'kept.jsonl');
    const skip = ['--resume', '--skip-bad-lines', '--errors-to', kept, '--json'];
    const resumed = await rows('import', table, ...line, ...skip);
    expect([resumed.code, resumed.json()]).toMatchObject([0, { total: { inserted: 47, skipped: 3 } }]);
    expect(readFileSync(kept, 'utf8')).toBe(`${[lines[24], lines[33], lines[36]].join('\n')}\n`);
    const stored = (await table.list('?sort=n&per_page=200')).map(({ n }) => n);
    const good = [...Array(51).keys()].filter((n) => ![25, 34, 37].includes(n));
    expect(stored).toEqual(good);
  });

  test('a merge overwrites existing rows', async () => {
    const table = await world.table(['id:int', 'name:text']);
    await table.batch([
      { id: 1, name: 'old' },
      { id: 2, name: 'stays' },
    ]);
    const stdin = '{"id":1,"name":"new"}\n{"id":3,"name":"more"}\n';
    const flags = ['--on-conflict', 'id', '--resolution', 'merge', '--execute', '--json'];
    const ran = await svc(
      ['rows', 'import', table.name, '--app', world.app.slug, '--from-file', '-', ...flags],
      { stdin },
    );
    expect(ran.json()).toMatchObject({ inserted: 1, updated: 1 });
    expect((await table.list('?sort=id')).map(({ name }) => name)).toEqual(['new', 'stays', 'more']);
  });
});

describe('an import that is killed', () => {
  test('continues with --resume: no line is missing or stored twice', async () => {
    // An app of its own: the rate limit for batches is per app.
    const own = await rowsWorld();
    const env = envOf(own);
    const table = await own.table(['n:int', 'text:text']);
    const file = join(temporaryFolder(), 'many.jsonl');
    const count = 12_000;
    const line = (n: number) => `{"n":${n},"text":"${'x'.repeat(100)}"}\n`;
    await Bun.write(file, Array.from({ length: count }, (_, n) => line(n)).join(''));
    const args = [
      'rows',
      'import',
      table.name,
      '--app',
      own.app.slug,
      '--from-file',
      file,
      '--batch-size',
      '100',
    ];
    let begun = false;
    let kills = 0;
    for (let code = -1; code !== 0; ) {
      const child = Bun.spawn([join(root, 'svc'), ...args, '--execute', ...(begun ? ['--resume'] : [])], {
        env,
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'pipe',
      });
      const timer = setTimeout(() => child.kill('SIGKILL'), 120 + 10 * kills + ((kills * 83) % 200));
      code = await child.exited;
      clearTimeout(timer);
      const stderr = await new Response(child.stderr).text();
      // After a kill before the first request there is nothing to resume, and the command reports that.
      begun = code !== 5;
      if (code === 137) kills += 1;
      else expect([code, stderr]).toEqual([code === 5 ? 5 : 0, expect.any(String)]);
    }
    const stored = await table.send('GET', '?select=n&sort=n', undefined, { accept: 'application/x-ndjson' });
    const numbers = stored.text
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text).n);
    expect(numbers).toEqual([...Array(count).keys()]);
    expect(kills).toBeGreaterThan(0);
    console.log(`cli-rows: an import killed ${kills} times, ${count} rows, none missing, none twice`);
  });
});

test('an import survives a restart of its server, and stores every line once', async () => {
  const first = await startServer();
  const own = await rowsWorld(first);
  const table = await own.table(['n:int']);
  const file = join(temporaryFolder(), 'many.jsonl');
  const count = 15_000;
  await Bun.write(file, Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join(''));
  const args = [
    'rows',
    'import',
    table.name,
    '--app',
    own.app.slug,
    '--from-file',
    file,
    '--batch-size',
    '100',
  ];
  const importing = Bun.spawn([join(root, 'svc'), ...args, '--execute', '--json'], {
    env: envOf(own),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const stored = async () => (await table.send('GET', '/_count')).body.count as number;
  await until('some of it is stored', async () => (await stored()) > 500);
  first.signal('SIGKILL');
  await first.exited;
  const { dataDir, port } = first;
  await startServer({ dataDir, port });
  const [stdout, stderr, code] = await Promise.all([
    new Response(importing.stdout).text(),
    new Response(importing.stderr).text(),
    importing.exited,
  ]);
  expect([code, stderr.includes('"code"')]).toEqual([0, false]);
  expect(JSON.parse(stdout)).toMatchObject({ inserted: count, batches: 150 });
  const found = await table.send('GET', '?select=n&sort=n', undefined, { accept: 'application/x-ndjson' });
  const numbers = found.text
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text).n);
  expect(numbers).toEqual([...Array(count).keys()]);
});

test('100,000 lines are imported and exported in constant memory', async () => {
  const table = await world.table(['n:int', 'name:text', 'note:text', 'at:timestamptz']);
  const file = join(temporaryFolder(), 'large.jsonl');
  const writer = Bun.file(file).writer();
  const count = 100_000;
  for (let n = 0; n < count; n += 1)
    writer.write(`{"n":${n},"name":"name ${n}","note":"${'é'.repeat(60)}","at":"2026-01-31T09:30:00Z"}\n`);
  await writer.end();
  const began = performance.now();
  const line = [
    'rows',
    'import',
    table.name,
    '--app',
    world.app.slug,
    '--from-file',
    file,
    '--execute',
    '--json',
  ];
  const imported = await measured([join(root, 'svc'), ...line]);
  const importSeconds = (performance.now() - began) / 1000;
  expect([imported.code, JSON.parse(imported.stdout).inserted]).toEqual([0, count]);
  const out = join(temporaryFolder(), 'large.csv');
  const exported = await measured([
    join(root, 'svc'),
    'rows',
    'export',
    table.name,
    '--app',
    world.app.slug,
    '--to',
    out,
    '--json',
  ]);
  expect([exported.code, JSON.parse(exported.stdout).rows, existsSync(out)]).toEqual([0, count, true]);
  const megabytes = [imported, exported].map(({ bytes }) => Math.round(bytes / 1e6));
  console.log(
    `cli-rows: ${count} lines (${Math.round(Bun.file(file).size / 1e6)} MB) imported in ${importSeconds.toFixed(1)} s, ` +
      `at most ${megabytes[0]} MB; exported as CSV with ${megabytes[1]} MB`,
  );
  for (const most of megabytes) expect(most).toBeLessThan(200);
});

/** Peak memory of the process. */
/** The system counts a child's memory from its parent's at the fork: measure the child's own. */
async function measured(command: string[]) {
  const child = Bun.spawn(command, { env: envOf(world), stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  let bytes = 0;
  const look = setInterval(() => {
    const status = `/proc/${child.pid}/status`;
    const most = existsSync(status) && /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, 'utf8'))?.[1];
    if (most) bytes = Math.max(bytes, Number(most) * 1024);
  }, 20);
  const [stdout, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  clearInterval(look);
  return { code, stdout, bytes };
}
