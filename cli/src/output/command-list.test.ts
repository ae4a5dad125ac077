import { describe, expect, test } from 'bun:test';
import { columnTypeForms } from '@svc/contract/columns.ts';
import { runSvc } from '../../testing/run-svc.ts';
import { commandWords } from '../registry.ts';
import type { CommandEntry } from './command-list.ts';
import { grammars } from './grammars.ts';

const json = async (...argv: string[]) => JSON.parse((await runSvc(['schema', ...argv, '--json'])).out);

describe('svc schema', () => {
  test('alone lists every command with its kind, arguments and output', async () => {
    const { commands, grammars: listed } = await json();
    expect(commands.map(({ command }: CommandEntry) => command)).toEqual(
      commandWords.map((words) => `svc ${words}`),
    );
    const entry = (words: string) => commands.find(({ command }: CommandEntry) => command === `svc ${words}`);
    const kinds = ['apps list', 'apps update', 'run', 'init'].map((words) => entry(words).kind);
    expect(kinds).toEqual(['read', 'change', 'act', 'local']);
    expect(entry('apps list').output).toMatchObject({
      type: 'page',
      fields: expect.arrayContaining(['slug', 'name']),
    });
    expect(entry('grants mine').output).toMatchObject({
      type: 'array',
      fields: expect.arrayContaining(['subject_id']),
    });
    expect(entry('apps get').arguments).toEqual([
      { name: '<app>', type: 'string', required: true, grammar: 'slug_or_id' },
    ]);
    expect(entry('rows list').arguments).toContainEqual({
      name: '--filter',
      type: 'string',
      repeated: true,
      grammar: 'filter',
    });
    for (const { output } of commands) expect(output.type).toBeString();
    expect(listed).toEqual(grammars);
  });

  test('alone is a table of commands for people', async () => {
    const { out } = await runSvc(['schema'], { terminal: true, columns: 80, env: { NO_COLOR: '1' } });
    expect(out).toMatch(/^svc apps create +change +Create/m);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('alone is the JSON list where no terminal reads it, unless a table is asked for', async () => {
    expect(JSON.parse((await runSvc(['schema'])).out)).toEqual(await json());
    for (const table of [
      ['-o', 'table'],
      ['--columns', 'command,kind'],
    ])
      expect((await runSvc(['schema', ...table])).out).toMatch(/^svc apps create +change/m);
  });

  test('of a command has the grammar of each value as a pattern', async () => {
    const { input } = await json('rows', 'list');
    expect(input.properties['--filter'].items.pattern).toBe(grammars.filter.pattern);
    expect((await json('apps', 'create')).input.properties['--slug'].pattern).toBe(grammars.slug.pattern);
  });

  test.each([
    ['grants get', 'grant', 'id'],
    ['connectors create', 'slug', 'slug'],
    ['deployments wait', 'deployment-id', 'deployment'],
    ['members remove', 'user', 'id'],
    ['tables create', 'table', 'table_name'],
    ['rows list', 'table', 'table_path'],
    ['env unset', 'names', 'env_name'],
    ['git-host repos delete', 'repository', 'repository'],
    ['tables indexes add', '--column', 'table_name'],
  ] as const)('of %s has the grammar of %s: %s', async (words, name, grammar) => {
    const { [name]: written } = (await json(...words.split(' '))).input.properties;
    expect((written.items ?? written).pattern).toBe(grammars[grammar].pattern);
  });

  test('leaves free text without a grammar', async () => {
    const { commands } = await json();
    const free = commands.flatMap(({ arguments: all }: CommandEntry) =>
      all.filter(({ name, grammar, values }) => name.startsWith('<') && !grammar && !values),
    );
    const names = new Set(free.map(({ name }: { name: string }) => name));
    expect([...names].sort().join(' ')).toBe(
      '<command> <file> <host> <id> <key> <name> <policy> <profile> <query> <source> <target> <value> <what> <words>',
    );
  });
});

test.each([
  ['slug', ['shop', 'pet-shop2'], ['Shop', '-a', 'a-']],
  ['id', ['0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c', '0198C1F2-7B1E-7C3A-9D52-0C5E8F1A2B3C'], ['1']],
  ['slug_or_id', ['shop', '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c'], ['Shop', 'a shop', '']],
  ['user', ['ann@example.com', '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c'], ['ann', '@example.com']],
  ['deployment', ['latest', '12', '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c'], ['0', '#12', 'newest']],
  ['duration', ['500ms', '6s', '1h30m'], ['6', 's', '-1s', '']],
  [
    'filter',
    ['age=gt.3', 'name=Rex', 'or=(age.gt.3,name.is.null)', 'not.and=(a.eq.1,b.eq.2)', 'author.name=Ann'],
    ['age', '=3', 'Age=3', 'author.=3'],
  ],
  ['sort', ['-age', 'name', '-author.name'], ['+age', '', 'author.']],
  [
    'column_spec',
    [
      'at:timestamptz:nullable:now()',
      'age:int(min=0,max=150):nullable',
      'photo:file',
      ...columnTypeForms.map((type) => `name:${type.replace('<table>', 'authors')}`),
    ],
    ['name', 'name:string', 'name:ref', 'name:decimal', 'name:int(min=0'],
  ],
  ['table_name', ['pets'], ['Pets', '_a', '1a']],
  ['table_name_or_id', ['pets', '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c'], ['Pets']],
  ['table_path', ['pets', 'sales/orders', 'dbo/Order Details'], ['Pets', 'sales/', '/orders']],
  ['process_count', ['worker=2', 'web=10'], ['worker', 'worker=-1']],
  ['schedule_name', ['nightly-report'], ['Nightly']],
  ['env_name', ['DATABASE_URL'], ['A-B']],
  ['env_pair', ['A=', 'A=b', 'A=b\nc'], ['A', '1A=b']],
  ['resource_path', ['sales', 'hr/people'], ['a/b/c', '']],
  ['repository', ['acme/shop'], ['shop', 'a/b/c']],
] as const)('the pattern of %s accepts its values only', (name, good, bad) => {
  const pattern = new RegExp(grammars[name].pattern, 'u');
  for (const text of good) expect([text, pattern.test(text)]).toEqual([text, true]);
  for (const text of bad) expect([text, pattern.test(text)]).toEqual([text, false]);
});
