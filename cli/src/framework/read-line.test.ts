import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { runSvc } from '../../testing/run-svc.ts';
import { commandWords, svc } from '../registry.ts';
import { version, versionLine } from '../version.ts';
import { CliError } from './errors.ts';
import { resolveWords } from './words.ts';

describe('the words of a line', () => {
  test('end with the command; the rest are its arguments', async () => {
    expect(await resolveWords(svc, ['grants', 'scope', 'set', 'x', 'set'])).toEqual({
      kind: 'command',
      words: 'grants scope set',
      rest: ['x', 'set'],
    });
  });

  test('may have global flags before and between them', async () => {
    const { words, rest } = await resolveWords(svc, [
      '--tenant',
      'grants',
      '--json',
      'grants',
      '-o',
      'yaml',
      'list',
    ]);
    expect([words, rest]).toEqual(['grants list', ['--tenant', 'grants', '--json', '-o', 'yaml']]);
  });

  test('that name a group name a group', async () => {
    expect(await resolveWords(svc, ['grants', 'scope'])).toMatchObject({
      kind: 'group',
      words: 'grants scope',
    });
    expect(await resolveWords(svc, [])).toMatchObject({ kind: 'group', words: '' });
  });

  test('of a group can stand for its default command, with arguments and flags', async () => {
    const list = { kind: 'command', words: 'apps members list', alone: 'apps members' };
    for (const rest of [
      ['shop'],
      ['shop', '--page', '2'],
      ['--page', '2', 'shop'],
      ['--json', 'shop', 'add'],
      [],
    ])
      expect(await resolveWords(svc, ['apps', 'members', ...rest])).toMatchObject({ ...list, rest });
    expect(await resolveWords(svc, ['apps', '--json', 'members', '-o', 'yaml', 'shop'])).toMatchObject({
      ...list,
      rest: ['--json', '-o', 'yaml', 'shop'],
    });
    // A command's name means that command, unless it follows the full command or two dashes.
    expect(await resolveWords(svc, ['apps', 'members', 'add'])).toMatchObject({
      words: 'apps members add',
      rest: [],
    });
    expect(await resolveWords(svc, ['apps', 'members', 'list', 'add'])).toMatchObject({ rest: ['add'] });
    expect(await resolveWords(svc, ['apps', 'members', '--', 'add'])).toMatchObject({
      ...list,
      rest: ['--', 'add'],
    });
    expect(await resolveWords(svc, ['apps', 'inspection-consent', '--app', 'get'])).toMatchObject({
      words: 'apps inspection-consent get',
      rest: ['--app', 'get'],
    });
    const refused = await resolveWords(svc, ['apps', 'inspection-consent', 'st']).catch((cause) => cause);
    expect(refused.next).toContain('svc apps inspection-consent set');
  });

  test('after help request help', async () => {
    expect(await resolveWords(svc, ['help', 'grants', 'list'])).toMatchObject({
      words: 'grants list',
      rest: ['--help'],
    });
  });

  test.each([
    [['grnats'], 'svc grants'],
    [['grants', 'lst'], 'svc grants list'],
    [['grants', 'scope', 'st'], 'svc grants scope set'],
    [['frobnicate'], 'svc --help'],
    [['--status', 'active', 'grants', 'list'], 'after its words'],
  ])('%j are rejected with a suggestion', async (argv, hint) => {
    const error = await resolveWords(svc, argv).catch((cause) => cause);
    expect(error).toBeInstanceOf(CliError);
    expect(error.next).toContain(hint);
  });

  test('of every command are found, whatever follows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...commandWords), fc.array(fc.string()), async (words, rest) => {
        expect(await resolveWords(svc, [...words.split(' '), ...rest])).toEqual({
          kind: 'command',
          words,
          rest,
        });
      }),
    );
  });
});

describe('help and version', () => {
  test('svc alone, a group alone and help print help on stdout and exit 0', async () => {
    for (const argv of [
      [],
      ['grants'],
      ['--help'],
      ['help', 'grants'],
      ['grants', '-h'],
      ['login', '--help'],
    ]) {
      const ran = await runSvc(argv);
      expect([argv, ran.exit, ran.err]).toEqual([argv, 0, '']);
      expect(ran.out).toContain('Usage');
    }
  });

  test('a group with a default command shows all its commands, and its own usage', async () => {
    const { out } = await runSvc(['apps', 'members', '--help']);
    expect(out).toContain(
      '  svc apps members <command> [arguments] [flags]\n  svc apps members <app> [flags]\n',
    );
    expect(out).toContain('svc apps members without a command is short for svc apps members list.');
    for (const taken of ['<app>', '--page', '--per-page']) expect(out).toContain(taken);
    expect((await runSvc(['apps', 'inspection-consent', '--help'])).out).toContain('--app <app>');
    for (const word of ['list', 'add', 'remove']) expect(out).toMatch(new RegExp(`^  ${word} `, 'm'));
    expect((await runSvc(['apps', 'members', 'list', '--help'])).out).toContain('--per-page');
  });

  test('help states how long each command may take', async () => {
    for (const [words, time] of [
      ['apps get', '60s'],
      ['deploy', '20m'],
      ['deployments rollback', '20m'],
      ['apps resume', '20m'],
      ['logs', '24h'],
      ['apps bootstrap', '24h'],
    ] as const) {
      const { out } = await runSvc([...words.split(' '), '--help']);
      expect([words, out.replaceAll(/\s+/g, ' ')]).toEqual([
        words,
        expect.stringContaining(`Time limit of the command (${time}) (1ms to 24d)`),
      ]);
    }
  });

  test('help is printed whatever else is wrong with the line', async () => {
    expect((await runSvc(['grants', 'create', '--nonsense', '--help'])).exit).toBe(0);
  });

  test('fits a narrow terminal', async () => {
    for (const argv of [['grants', 'create', '--help'], ['--help']]) {
      const { out } = await runSvc(argv, { env: { COLUMNS: '40' } });
      // Lines to be copied and the list of formats are not wrapped.
      const others = out.split('\n').filter((line) => !/^ {2}(?:svc |-o, |# )/.test(line));
      for (const line of others) expect(line.length).toBeLessThanOrEqual(40);
    }
  });

  test('--version anywhere prints the version, as JSON too', async () => {
    expect(await runSvc(['--version'])).toMatchObject({ exit: 0, out: versionLine });
    expect(await runSvc(['grants', 'list', '--version'])).toMatchObject({ exit: 0, out: versionLine });
    expect(JSON.parse((await runSvc(['--version', '-o', 'json'])).out)).toEqual({ version });
    expect((await runSvc(['version', '--verbose'])).out).toContain('bun ');
  });

  test('an unknown flag of a group is rejected', async () => {
    expect(await runSvc(['grants', '--nonsense'])).toMatchObject({ exit: 2, out: '' });
  });
});
