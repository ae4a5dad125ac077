import { describe, expect, test } from 'bun:test';
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
    expect([entry('apps list').kind, entry('apps update').kind, entry('init').kind]).toEqual([
      'read',
      'change',
      'local',
    ]);
    expect(entry('apps list').output).toMatchObject({
      type: 'page',
      fields: expect.arrayContaining(['slug', 'name']),
    });
    expect(entry('grants mine').output).toMatchObject({
      type: 'array',
      fields: expect.arrayContaining(['subject_id']),
    });
    expect(entry('apps get').arguments).toEqual([{ name: '<app>', type: 'string', required: true }]);
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

  test('of a command has the grammar of each value as a pattern', async () => {
    const { input } = await json('rows', 'list');
    expect(input.properties['--filter'].items.pattern).toBe(grammars.filter.pattern);
    expect((await json('apps', 'create')).input.properties['--slug'].pattern).toBe(grammars.slug.pattern);
  });
});

test.each([
  ['slug', ['shop', 'pet-shop2'], ['Shop', '-a', 'a-']],
  ['id', ['0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c', '0198C1F2-7B1E-7C3A-9D52-0C5E8F1A2B3C'], ['1']],
  ['duration', ['500ms', '6s', '1h30m'], ['6', 's', '-1s', '']],
  [
    'filter',
    ['age=gt.3', 'name=Rex', 'or=(age.gt.3,name.is.null)', 'not.and=(a.eq.1,b.eq.2)'],
    ['age', '=3', 'Age=3'],
  ],
  ['sort', ['-age', 'name'], ['+age', '']],
  ['column_spec', ['name:text', 'at:timestamptz:nullable:now()'], ['name', 'name:string']],
  ['table_name', ['pets'], ['Pets', '_a', '1a']],
  ['env_name', ['DATABASE_URL'], ['A-B']],
  ['resource_path', ['sales', 'hr/people'], ['a/b/c', '']],
  ['repository', ['acme/shop'], ['shop', 'a/b/c']],
] as const)('the pattern of %s accepts its values only', (name, good, bad) => {
  const pattern = new RegExp(grammars[name].pattern, 'u');
  for (const text of good) expect([text, pattern.test(text)]).toEqual([text, true]);
  for (const text of bad) expect([text, pattern.test(text)]).toEqual([text, false]);
});
