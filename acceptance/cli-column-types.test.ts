import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { svcAs } from './support/commands.ts';
import { rowsWorld } from './support/rows.ts';
import { temporaryFolder } from './support/server.ts';

const world = useFixture(rowsWorld);
const svc = svcAs(() => [world.tenant, world.owner]);

const columns = [
  'amount:decimal(12,2,min=0):nullable',
  'state:enum(open,in work):open',
  'tags:text[]',
  'sizes:int[]:[]',
  'code:text(max_length=9,pattern="^[a-z\\d]+$"):nullable',
];
const create = (name: string) =>
  svc([
    'tables',
    'create',
    name,
    '--app',
    world.app.slug,
    '--execute',
    ...['no:autonumber', ...columns].flatMap((column) => ['--column', column]),
  ]);
const file = (name: string, text: string) => {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
};

describe('columns of the newer types on the command line', () => {
  test('are created, shown, copied by a file, and changed', async () => {
    expect((await create('a')).code).toBe(0);
    const shown = await svc(['tables', 'get', 'a', '--app', world.app.slug]);
    expect(shown.stdout).toContain('amount:decimal(12,2,min=0.00):nullable');
    expect(shown.stdout).toContain('code:text(max_length=9,pattern="^[a-z\\\\d]+$"):nullable');
    const yaml = (await svc(['tables', 'get', 'a', '--app', world.app.slug, '-o', 'yaml'])).stdout;
    const schema = file('a.yaml', yaml);
    const copy = await svc([
      'tables',
      'create',
      'b',
      '--app',
      world.app.slug,
      '--schema',
      schema,
      '--execute',
    ]);
    expect([copy.code, copy.stderr]).toEqual([0, expect.any(String)]);
    const columnsOf = async (table: string) =>
      (await svc(['tables', 'get', table, '--app', world.app.slug, '--json'])).json<{ columns: unknown }>()
        .columns;
    expect(await columnsOf('b')).toEqual(await columnsOf('a'));
    const update = (...flags: string[]) =>
      svc(['tables', 'columns', 'update', 'b', ...flags, '--app', world.app.slug, '--execute']);
    expect((await update('amount', '--type', 'decimal(14,2)', '--min', '', '--max', '5')).code).toBe(0);
    const { code, stderr } = await update('amount', '--type', 'int');
    expect([code, stderr]).toEqual([6, expect.stringContaining('cannot become int without loss')]);
  });

  test('are imported from CSV by --types and exported as they were', async () => {
    await create('c');
    const csv = [
      'amount,state,tags,sizes,code',
      '1.50,open,"[""a"",""b,c""]","[1,2]",x1',
      ',in work,[],[],',
      '',
    ].join('\n');
    const path = file('c.csv', csv);
    const types = 'amount:decimal(12,2),state:enum(open,in work),tags:text[],sizes:int[],code:text';
    const imported = await svc([
      'rows',
      'import',
      'c',
      '--app',
      world.app.slug,
      '--from-file',
      path,
      '--types',
      types,
      '--execute',
      '--json',
    ]);
    expect([imported.code, imported.json()]).toMatchObject([0, { inserted: 2 }]);
    const list = (format: string) =>
      svc([
        'rows',
        'export',
        'c',
        '--app',
        world.app.slug,
        '--sort',
        'no',
        '--format',
        format,
        '--select',
        'amount,state,tags,sizes,code',
      ]);
    expect((await list('csv')).stdout.replaceAll('\r\n', '\n')).toBe(csv);
    expect((await list('jsonl')).stdout.split('\n')[0]).toBe(
      '{"amount":"1.50","state":"open","tags":["a","b,c"],"sizes":[1,2],"code":"x1"}',
    );
    const bad = file('bad.csv', 'amount,tags\n-1,[]\n1,"[1]"\n');
    const refused = await svc([
      'rows',
      'import',
      'c',
      '--app',
      world.app.slug,
      '--from-file',
      bad,
      '--execute',
    ]);
    expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining('check min')]);
  });
});
