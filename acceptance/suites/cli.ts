import { beforeAll, describe, expect, test } from 'bun:test';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { parseArgs } from '../../cli/src/framework/parse.ts';
import { svc as program } from '../../cli/src/registry.ts';
import { freePort } from '../../scripts/free-port.ts';
import { commandLine, knownCommands } from '../support/command-inputs.ts';
import { type CommandHelp, commandList } from '../support/command-list.ts';
import { type Ran, type Svc, svcFor } from '../support/commands.ts';
import { violations } from '../support/json-schema.ts';
import { everyNth } from '../support/until.ts';
import { newWorld, type World } from '../support/world.ts';

export function cliSuite({ nth }: { nth: number }): void {
  let world: World;
  let svc: Svc;
  let everything: CommandHelp[];
  let commands: CommandHelp[];

  beforeAll(async () => {
    [world, everything] = await Promise.all([newWorld(), commandList()]);
    commands = everything.filter(({ kind }) => kind === 'command');
    svc = svcFor(world.tenant.server, { token: world.people.A.token, tenant: world.tenant.slug });
  });

  /** No server listens here: a command that gets as far as a request exits with 12. */
  const unreachableServer = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };

  describe('every command', () => {
    test('has inputs in the tests, and the tests have no inputs for others', () => {
      expect(commands.map(({ words }) => words).sort()).toEqual([...knownCommands].sort());
    });

    // Lines that are refused send no request: they share the inputs of the line that succeeds.
    test('refuses wrong lines before any request, and prints with --json what svc schema describes', async () => {
      interface Schemas {
        input: { properties: Record<string, Record<string, unknown>> };
        output: Record<string, unknown>;
        preview?: Record<string, unknown>;
      }
      let checked = 0;
      const check = async ({ words, mutates, help }: (typeof commands)[number]) => {
        const described = await svc(['schema', ...words.split(' '), '--json']);
        const { input, output, preview } = described.json<Schemas>();
        expect([words, mutates]).toEqual([words, preview !== undefined]);
        const { args, ...rest } = await commandLine(words, world);
        const typed = args.slice(words.split(' ').length);
        const { positionals } = (await parseArgs(program, await program.load(words), typed, { env: {} }))
          .args;
        for (const [name, value] of Object.entries(positionals))
          if (value !== undefined)
            expect([words, name, violations(input.properties[name]!, value)]).toEqual([words, name, []]);
        const refused = { ...rest, env: { ...rest.env, ...unreachableServer } };
        await expectUnknownFlag(words, args, refused);
        await expectNumberOfArguments(words, help, args, refused);
        const expectResult = (ran: Ran, schema: Record<string, unknown>) => {
          expect([words, ran.code, ran.stderr]).toEqual([words, 0, expect.any(String)]);
          expect([words, violations(schema, ran.json())]).toEqual([words, []]);
          checked += 1;
        };
        const ran = await svc([...args, '--json'], rest);
        expectResult(ran, preview ?? output);
        if (!mutates) return;
        // Without a terminal none prompts: one that needs a confirmation ends with 11.
        const executed = await svc([...args, '--json', '--execute'], rest);
        expectResult(
          executed.code === 11 ? await svc([...args, '--json', '--execute', '--yes'], rest) : executed,
          output,
        );
      };
      // These change the same password: one after the other.
      const isOfPassword = ({ words }: (typeof commands)[number]) =>
        /^account (?:password|factors)/.test(words);
      const chosen = everyNth(commands, nth);
      await mapConcurrently(
        chosen.filter((command) => !isOfPassword(command)),
        4,
        check,
      );
      await mapConcurrently(chosen.filter(isOfPassword), 1, check);
      console.log(
        `cli: ${Math.ceil(commands.length / nth)} commands, ${checked} JSON outputs checked against their schemas`,
      );
    });

    type Options = Parameters<Svc>[1];

    /** Exit 2, nothing on stdout, the flag named. */
    async function expectUnknownFlag(words: string, args: string[], options: Options): Promise<void> {
      const ran = await svc([...args, '--no-such-flag'], options);
      expect([words, ran.code, ran.stdout]).toEqual([words, 2, '']);
      expect(ran.stderr).toContain('--no-such-flag');
    }

    /** One argument too many, or too few: exit 2. */
    async function expectNumberOfArguments(words: string, help: string, args: string[], options: Options) {
      const usage = /^ {2}(svc .*)$/m.exec(help)![1]!;
      if (!usage.includes('...')) {
        const more = await svc([...args, 'one-too-many'], options);
        expect([words, more.code, more.stdout]).toEqual([words, 2, '']);
      }
      const needs = usage.replace(/\[[^\]]*\]/g, '').replace(`svc ${words}`, '');
      if (!needs.includes('<')) return;
      const less = await svc(words.split(' '), options);
      expect([words, less.code, less.stdout]).toEqual([words, 2, '']);
    }

    test('prints the same data as JSON lines and as YAML, and a table for people', async () => {
      const reads = commands.filter(({ words, mutates }) => !mutates && / (?:list|get|mine)$/.test(words));
      // Created first: a list that grows while it is printed cannot be compared.
      const lines = await mapConcurrently(
        everyNth(reads, nth),
        4,
        async ({ words }) => (await commandLine(words, world)).args,
      );
      await mapConcurrently(lines, 4, async (args) => {
        const words = args.join(' ');
        const [json, jsonl, yaml, table] = await Promise.all(
          ['json', 'jsonl', 'yaml', 'table'].map((format) => svc([...args, '-o', format])),
        );
        const value = json!.json<{ items?: unknown[]; data?: unknown[] }>();
        const rows = Array.isArray(value) ? value : (value.items ?? value.data ?? [value]);
        const parsed = jsonl!.stdout
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line));
        expect([words, parsed]).toEqual([words, rows]);
        expect([words, Bun.YAML.parse(yaml!.stdout) as unknown]).toEqual([words, value]);
        expect([words, table!.code]).toEqual([words, 0]);
        if (/ list /.test(`${words} `) && rows.length > 0) await expectNarrowTable(args);
      });
    });

    /** No line over 80 columns; the first column that is no id is whole. */
    async function expectNarrowTable(args: string[]): Promise<void> {
      const words = args.join(' ');
      const { stdout } = await svc(args, { env: { COLUMNS: '80', LANG: 'C.UTF-8' } });
      const [head = '', ...rows] = stdout.trimEnd().split('\n');
      for (const line of [head, ...rows]) expect([line, Bun.stringWidth(line) <= 80]).toEqual([line, true]);
      const titles = [...head.matchAll(/[A-Z]+(?: [A-Z]+)*/g)];
      // Values that do not fit beside each other are printed below each other.
      if (head !== head.toUpperCase()) return;
      const from = titles[rows.every((row) => /^[0-9a-f]{8}-/.test(row)) ? 1 : 0]?.index ?? 0;
      const to = titles.find(({ index }) => index > from)?.index;
      for (const row of rows)
        expect([words, row.slice(from, to)]).toEqual([words, expect.stringMatching(/^[^…]+$/)]);
    }

    test('is completed without a request', async () => {
      for (const { words } of commands) {
        const typed = words.split(' ');
        const ran = await svc(['__complete', ...typed], { env: { ...unreachableServer, SVC_TOKEN: '' } });
        expect([words, ran.stdout.split('\t')[0]]).toEqual([words, typed.at(-1)]);
      }
    });

    test('has a help on stdout that exits 0, with a summary, a usage line and examples of its own', async () => {
      for (const { words, kind, help } of everything) {
        // `commandList` saw the exit code and that stderr stayed empty.
        expect([words, help.split('\n')[0]!.length > 10]).toEqual([words, true]);
        expect(help).toMatch(new RegExp(`^Usage\\n {2}svc${words === '' ? '' : ` ${words}`}`, 'm'));
        if (kind === 'group') continue;
        const examples = help.slice(help.indexOf('\nExamples\n')).match(/^ {2}svc .*$/gm) ?? [];
        expect([words, examples.length > 0]).toEqual([words, true]);
        for (const example of examples) expect(example).toStartWith(`  svc ${words}`);
      }
      const asked = await mapConcurrently(everyNth(everything, nth), 4, async ({ words, kind, help }) => {
        const typed = words === '' ? [] : words.split(' ');
        // Some groups run one of their commands when they are typed alone.
        const isRun = kind === 'command' || help.includes(`svc ${words} without a command is `);
        const forms = [['help', ...typed], [...typed, '-h'], ...(isRun ? [] : [typed])];
        const ran = await Promise.all(forms.map((form) => svc(form, { env: unreachableServer })));
        for (const it of ran) expect([words, it.code, it.stdout, it.stderr]).toEqual([words, 0, help, '']);
        return ran.length;
      });
      console.log(
        `cli: ${everything.length} helps, requested ${asked.reduce((sum, ways) => sum + ways, asked.length)} times`,
      );
    });
  });

  describe('a typing error', () => {
    test.each([
      [['grnats', 'list'], 'svc grants'],
      [['grants', 'lst'], 'svc grants list'],
      [['whoam'], 'svc whoami'],
      [['connectors', 'delte', 'x'], 'svc connectors delete'],
      [['grants', 'scope', 'sett', 'x', 'y'], 'svc grants scope set'],
      [['whoami', '--tennant', 'x'], '--tenant'],
      [['connectors', 'create', '--nmae', 'x', '--kind', 'http'], '--name'],
      [['connectors', 'delete', 'x', '--exceute'], '--execute'],
      [['connectors', 'create', '--name', 'x', '--kind', 'postgre'], 'postgres'],
    ])('%j exits 2 and suggests the right word', async (typed, meant) => {
      const ran = await svc(typed, { env: unreachableServer });
      expect([ran.code, ran.stdout]).toEqual([2, '']);
      expect(ran.stderr).toContain(meant);
    });

    test('with --json the problem on stderr is one JSON object', async () => {
      for (const typed of [
        ['grnats', '--json'],
        ['grants', 'list', '--nope', '-o', 'json'],
        ['-o=json', 'nope'],
      ]) {
        const ran = await svc(typed, { env: unreachableServer });
        const { code, detail, request_id } = JSON.parse(ran.stderr);
        expect([ran.code, code, typeof detail, request_id]).toEqual([2, 'usage', 'string', '']);
      }
    });

    test.each([
      [['whoami', '--timeout', 'soon']],
      [['whoami', '--timeout', '-1s']],
      [['whoami', '-o', 'xml']],
      [['whoami', '--json', '-o', 'yaml']],
      [['whoami', '--json=maybe']],
      [['whoami', '--tenant']],
      [['whoami', '--profile', '../elsewhere']],
      [['connectors', 'list', '--page', '0']],
      [['connectors', 'list', '--page', '1e3']],
      [['grants', 'scope', 'set', 'x', 'a', '--clear']],
      [['login', '--local', '--token-stdin']],
      [
        [
          'grants',
          'create',
          '--subject',
          'a',
          '--connector',
          'b',
          '--preset',
          'c',
          '--expires-at',
          'tomorrow',
        ],
      ],
      [
        [
          'grants',
          'create',
          '--subject',
          'a',
          '--connector',
          'b',
          '--preset',
          'c',
          '--expires-in',
          '1d',
          '--expires-at',
          '2030-01-01T00:00:00Z',
        ],
      ],
    ])('%j is a usage error before any request', async (typed) => {
      const ran = await svc(typed, { env: unreachableServer });
      expect([ran.code, ran.stdout]).toEqual([2, '']);
      expect(ran.stderr).not.toBe('');
    });
  });
}
