import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { expectFailure, type Ran, run, type Svc, svcFor } from './support/commands.ts';
import { type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';
import { root, temporaryFolder } from './support/server.ts';

let world: RowsWorld;
let svc: Svc;
let env: Record<string, string>;

beforeAll(async () => {
  world = await rowsWorld();
  const { server, owner, tenant } = world;
  svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
  env = {
    SVC_BASE_URL: server.baseUrl,
    SVC_TOKEN: owner.token,
    SVC_TENANT: tenant.slug,
    SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
    PATH: `${root}:${process.env.PATH}`,
  };
});

const rows = (verb: string, table: TestTable, ...args: string[]): Promise<Ran> =>
  svc(['rows', verb, table.name, ...args, '--app', world.app.slug]);

describe('svc rows aggregate', () => {
  test('groups rows, and shows what may be a mistake', async () => {
    const pets = await world.table(['kind:text', 'age:int']);
    await pets.batch([
      { kind: 'cat', age: 3 },
      { kind: 'cat', age: 5 },
      { kind: 'dog', age: 9 },
    ]);
    const select = ['--select', 'kind,n:count(),total:age.sum()'];
    const sorted = await rows('aggregate', pets, ...select, '--sort', '-n', '-o', 'csv');
    expect(sorted.stdout).toBe('kind,n,total\r\ncat,2,8\r\ndog,1,9\r\n');
    const some = await rows(
      'aggregate',
      pets,
      ...select,
      '--filter',
      'age=gt.3',
      '--having',
      'total.gt.5',
      '--json',
    );
    expect(some.json()).toMatchObject({ data: [{ kind: 'dog', n: 1, total: 9 }], has_more: false });
    const all = await rows('aggregate', pets, '--select', 'age', '--all', '-o', 'jsonl');
    expect(all.stdout).toBe('{"age":3}\n{"age":5}\n{"age":9}\n');
    const noted = await rows('aggregate', pets, ...select, '--filter', 'kind=eqq.cat', '--json');
    expect(noted.json()).toMatchObject({
      data: [],
      warnings: [expect.stringContaining('kind: "eqq." is not an operator')],
    });
    expect((await rows('list', pets, '--filter', 'kind=eqq.cat')).stderr).toContain('did you mean "eq."?');
    expect((await rows('count', pets, '--distinct', 'kind')).stdout).toBe('2\n');
    const first = await rows(
      'list',
      pets,
      '--distinct',
      'kind',
      '--select',
      'kind',
      '--sort',
      'kind',
      '-o',
      'jsonl',
    );
    expect(first.stdout).toBe('{"kind":"cat"}\n{"kind":"dog"}\n');
  });
});

describe('svc rows list', () => {
  let pets: TestTable;
  beforeAll(async () => {
    pets = await world.table(['name:text:nullable', 'age:int', 'tags:jsonb:nullable']);
    await pets.insert(
      { name: 'Rex', age: 3, tags: { colour: 'brown' } },
      { name: 'Ada, "the" Cat', age: 12 },
      { name: null, age: 1 },
      { name: 'Zoë 🐈', age: 7 },
    );
  });
  const names = async (...args: string[]) =>
    (await rows('list', pets, ...args, '--json'))
      .json<{ data: { name: string }[] }>()
      .data.map(({ name }) => name);

  test('filters, sorts and selects as the API spells it', async () => {
    expect(await names('--filter', 'age=gt.2', '--sort', '-age')).toEqual([
      'Ada, "the" Cat',
      'Zoë 🐈',
      'Rex',
    ]);
    expect(await names('--filter', 'age=gte.3', '--filter', 'age=lt.10', '--sort', 'age')).toEqual([
      'Rex',
      'Zoë 🐈',
    ]);
    expect(await names('--filter', 'or=(name.is.null,age.eq.12)', '--sort', 'age')).toEqual([
      null!,
      'Ada, "the" Cat',
    ]);
    expect(await names('--filter', 'not.or=(name.is.null,age.eq.12)', '--sort', 'age')).toEqual([
      'Rex',
      'Zoë 🐈',
    ]);
    expect(await names('--filter', 'name=Zoë 🐈')).toEqual(['Zoë 🐈']);
    expect(await names('--filter', 'name=in.("Ada, \\"the\\" Cat",Rex)', '--sort', 'name')).toHaveLength(2);
    const selected = await rows(
      'list',
      pets,
      '--select',
      'years:age,name',
      '--filter',
      'age=3',
      '-o',
      'jsonl',
    );
    expect(selected.stdout).toBe('{"years":3,"name":"Rex"}\n');
  });

  test('prints a table for people, whose columns are those of the rows', async () => {
    const { stdout, code } = await rows('list', pets, '--select', 'name,tags', '--sort', 'age');
    const [head, first, second] = stdout.split('\n');
    expect([code, head?.split(/ +/)]).toEqual([0, ['NAME', 'TAGS']]);
    expect([first?.trim(), second]).toEqual(['', expect.stringContaining('{"colour":"brown"}')]);
  });

  test('shows what is wrong with a query: exit 7', async () => {
    await expectFailure(rows('list', pets, '--filter', 'nope=eq.1'), 7, 'unknown_column');
    await expectFailure(rows('list', pets, '--filter', 'age=gt.x'), 7, 'validation_failed');
    await expectFailure(rows('list', pets, '--cursor', 'nonsense'), 7, 'invalid_cursor');
    await expectFailure(rows('list', pets, '--filter', 'age'), 2, 'usage');
  });

  test('follows cursors with --all and --limit, each row once, and continues from a cursor', async () => {
    const many = await world.table(['n:int']);
    await many.batch(Array.from({ length: 450 }, (_, at) => ({ n: at })));
    const all = await rows('list', many, '--all', '--sort', 'n', '-o', 'jsonl');
    expect(
      all.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).n),
    ).toEqual([...Array(450).keys()]);
    const some = (await rows('list', many, '--limit', '250', '--sort', 'n', '--json')).json<Page>();
    expect([some.data.length, some.has_more]).toEqual([250, true]);
    const rest = await rows('list', many, '--all', '--sort', 'n', '--cursor', some.next_cursor!, '--json');
    const page = rest.json<Page>();
    expect([page.data.length, page.data[0]?.n, page.has_more, page.next_cursor]).toEqual([
      200,
      250,
      false,
      null,
    ]);
    const third = (
      await rows('list', many, '--page', '3', '--per-page', '200', '--sort', 'n', '--json')
    ).json<Page>();
    expect([third.data.length, third.page, third.per_page]).toEqual([50, 3, 200]);
  });

  interface Page {
    data: { n: number }[];
    page: number;
    per_page: number;
    has_more: boolean;
    next_cursor: string | null;
  }

  test('a reader that has seen enough ends it quietly', async () => {
    const many = await world.table(['n:int', 'text:text']);
    await many.batch(Array.from({ length: 5000 }, (_, n) => ({ n, text: 'x'.repeat(500) })));
    for (const verb of ['list', 'export']) {
      const flags = verb === 'list' ? '--all -o jsonl' : '';
      const line = `svc rows ${verb} ${many.name} --app ${world.app.slug} ${flags}`;
      const ran = await run(['bash', '-c', `${line} | head -1; echo "\${PIPESTATUS[0]}"`], { env });
      expect([ran.stderr, ran.stdout.trim().split('\n').at(-1)]).toEqual(['', '0']);
    }
  });
});

describe('one row', () => {
  test('is previewed, then inserted, read, changed and deleted, with the exit code of what happened', async () => {
    const table = await world.table(['name:text', 'big:bigint:nullable', 'j:jsonb:nullable']);
    const data = '{"name":"Rex","big":9223372036854775807,"j":{"n":12345678901234567890.10}}';
    const preview = await rows('insert', table, '--data', data, '--json');
    expect([preview.code, preview.json()]).toMatchObject([
      0,
      { dry_run: true, plan: { operation: 'rows.insert' } },
    ]);
    expect(await table.list()).toEqual([]);
    const line = (await rows('insert', table, '--data', data)).stdout.trimEnd().split('\n').at(-1);
    expect(line).toContain('--execute');

    const inserted = await rows('insert', table, '--data', data, '--execute', '--json');
    expect(inserted.stdout).toContain('"9223372036854775807"');
    expect(inserted.stdout).toContain('12345678901234567890.10');
    const { id } = inserted.json<{ id: string }>();
    const got = await rows('get', table, id, '--json');
    expect(got.json()).toMatchObject({ id, name: 'Rex', big: '9223372036854775807' });
    const { etag, row } = (await rows('get', table, id, '--with-etag', '--json')).json<{
      etag: string;
      row: object;
    }>();
    expect(row).toEqual(got.json());

    const change = ['--data', '{"name":"Ada"}', '--if-match', etag];
    expect((await rows('update', table, id, ...change)).code).toBe(0);
    expect((await rows('get', table, id, '--json')).json()).toEqual(got.json());
    expect((await rows('update', table, id, ...change, '--execute', '--json')).json()).toMatchObject({
      name: 'Ada',
    });
    await expectFailure(rows('update', table, id, ...change, '--execute'), 6, 'precondition_failed');
    expect((await rows('count', table)).stdout).toBe('1\n');
    expect((await rows('count', table, '--mode', 'capped', '--json')).json()).toMatchObject({ count: 1 });

    expect((await rows('delete', table, id)).code).toBe(0);
    expect((await rows('delete', table, id, '--execute', '--json')).json()).toEqual({ deleted: true, id });
    await expectFailure(rows('delete', table, id, '--execute'), 5, 'not_found');
    await expectFailure(rows('get', table, id), 5, 'not_found');
  });

  test('is refused with the reason', async () => {
    const table = await world.table(['name:text', 'age:int:nullable']);
    await expectFailure(rows('insert', table, '--data', '{"name":1}', '--execute'), 7, 'validation_failed');
    await expectFailure(rows('insert', table, '--data', '{"nope":1}', '--execute'), 7, 'unknown_column');
    await expectFailure(rows('insert', table, '--data', 'no json', '--execute'), 2, 'usage');
    await expectFailure(
      rows('insert', { ...table, name: 'nowhere' }, '--data', '{}', '--execute'),
      5,
      'not_found',
    );
    const [row] = await table.insert({ name: 'Rex' });
    await expectFailure(
      rows('insert', table, '--data', JSON.stringify(row), '--execute'),
      7,
      'validation_failed',
    );
    await expectFailure(
      rows('insert', table, '--data', JSON.stringify({ id: row.id, name: 'x' }), '--execute'),
      6,
      'unique_violation',
    );
  });

  test('comes from a file or from standard input', async () => {
    const table = await world.table(['name:text']);
    const line = ['rows', 'insert', table.name, '--app', world.app.slug, '--execute', '--json'];
    const piped = await svc([...line, '--from-file', '-'], { stdin: '{"name":"piped"}\n' });
    expect(piped.json()).toMatchObject({ name: 'piped' });
    const path = join(temporaryFolder(), 'row.json');
    await Bun.write(path, '{\n  "name": "file"\n}\n');
    expect((await svc([...line, '--from-file', path])).json()).toMatchObject({ name: 'file' });
  });
});

describe('many rows', () => {
  test('that match are previewed, then changed and deleted, within the limit', async () => {
    const table = await world.table(['name:text', 'age:int', 'code:text:nullable']);
    await table.insert({ name: 'a', age: 1 }, { name: 'b', age: 2 }, { name: 'c', age: 3 });
    const change = ['--filter', 'age=gt.1', '--set', 'name=old', '--set', 'code="7"'];
    const preview = await rows('update-many', table, ...change, '--json');
    expect([preview.code, preview.json<{ plan: { operation: string } }>().plan.operation]).toEqual([
      0,
      'rows.updateMany',
    ]);
    const limited = rows('update-many', table, ...change, '--max-affected', '1', '--execute');
    await expectFailure(limited, 6, 'max_affected_exceeded');
    const updated = await rows('update-many', table, ...change, '--execute', '--json');
    expect(updated.json<{ updated: number }>().updated).toBe(2);
    expect((await table.list('?sort=age')).map(({ name, code }) => [name, code])).toEqual([
      ['a', null],
      ['old', '7'],
      ['old', '7'],
    ]);
    const deleted = await rows('delete-many', table, '--filter', 'name=eq.old', '--execute', '--json');
    expect(deleted.json<{ deleted: number }>().deleted).toBe(2);
    expect((await rows('delete-many', table, '--execute')).code).toBe(2);
  });

  test('of several tables change together by a file of operations, or not at all', async () => {
    const orders = await world.table(['name:text']);
    const parts = await world.table(['order:uuid', 'n:int']);
    const operations = (n: unknown) => [
      { op: 'insert', table: orders.name, as: 'order', values: { name: 'a' } },
      { op: 'insert', table: parts.name, values: { order: { $ref: 'order.id' }, n } },
    ];
    const batch = async (content: unknown, ...args: string[]) => {
      const file = join(temporaryFolder(), 'ops.json');
      await Bun.write(file, JSON.stringify(content));
      return svc(['rows', 'batch', '--app', world.app.slug, '--file', file, ...args]);
    };
    expect((await batch({ operations: operations(1) })).code).toBe(0);
    await expectFailure(batch({ operations: operations('x') }, '--execute'), 7, 'validation_failed');
    expect(await orders.list()).toEqual([]);
    const { results } = (await batch(operations(1), '--execute', '--json')).json<{
      results: { id: string }[];
    }>();
    expect((await parts.list()).map(({ order }) => order)).toEqual([results[0]!.id]);
  });
});

describe('a personal access token', () => {
  test('is enough for every rows command, without any login', async () => {
    const table = await world.table(['name:text', 'age:int:nullable']);
    const secret = await world.pat(world.owner);
    const bare = svcFor(world.server, { tenant: world.tenant.slug });
    const withPat = (verb: string, ...args: string[]) =>
      bare(['rows', verb, table.name, ...args, '--app', world.app.slug], { env: { SVC_API_KEY: secret } });
    const { id } = (await withPat('insert', '--data', '{"name":"a"}', '--execute', '--json')).json<{
      id: string;
    }>();
    const csv = join(temporaryFolder(), 'pets.csv');
    await Bun.write(csv, 'name,age\nb,\nc,3\n');
    const imported = ['import', '--from-file', csv, '--execute'] as const;
    const unknown = await withPat(...imported);
    expect([unknown.code, unknown.stderr.includes('--types')]).toEqual([2, true]);
    for (const line of [
      ['list'],
      ['get', id],
      ['count'],
      ['update', id, '--data', '{"age":1}', '--execute'],
      [...imported, '--types', 'name:text,age:int'],
      ['export'],
      ['export', '--format', 'csv'],
      ['delete', id, '--execute'],
    ]) {
      const ran = await withPat(line[0]!, ...line.slice(1));
      expect([line, ran.code, ran.stderr.replaceAll(secret, 'SECRET')]).toEqual([line, 0, '']);
    }
    expect((await table.list('?sort=name')).map(({ name, age }) => [name, age])).toEqual([
      ['b', null],
      ['c', 3],
    ]);
    expect((await bare(['whoami'], { env: { SVC_API_KEY: secret } })).code).toBe(3);
    const both = await svc(['rows', 'list', table.name, '--app', world.app.slug], {
      env: { SVC_API_KEY: secret },
    });
    expect([both.code, both.stderr.includes('SVC_TOKEN and SVC_API_KEY')]).toEqual([2, true]);
  });

  test('that may only read cannot change rows: exit 4; without a token: exit 3', async () => {
    const table = await world.table(['name:text']);
    const reads = { SVC_TOKEN: undefined, SVC_API_KEY: await world.pat(world.owner, { actions: ['read'] }) };
    const line = (verb: string) => ['rows', verb, table.name, '--app', world.app.slug];
    expect((await svc(line('list'), { env: reads })).code).toBe(0);
    const refused = await svc([...line('insert'), '--data', '{"name":"a"}', '--execute'], { env: reads });
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringContaining('The token does not have the action write.'),
    ]);
    expect((await svc(line('list'), { env: { SVC_TOKEN: undefined } })).code).toBe(3);
    const unknown = { SVC_TOKEN: undefined, SVC_API_KEY: `svcpat_${'x'.repeat(36)}` };
    expect((await svc(line('list'), { env: unknown })).code).toBe(3);
  });
});
