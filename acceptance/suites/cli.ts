import { beforeAll, describe, expect, test } from 'bun:test';
import { commandLine, knownCommands } from '../support/command-inputs.ts';
import { type CommandHelp, commandList } from '../support/command-list.ts';
import { type Svc, svcFor } from '../support/commands.ts';
import { violations } from '../support/json-schema.ts';
import { freePort } from '../support/server.ts';
import { everyNth, mapConcurrently } from '../support/until.ts';
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
  const nowhere = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };

  describe('every command', () => {
    test('has inputs in the tests, and the tests have no inputs for others', () => {
      expect(commands.map(({ words }) => words).sort()).toEqual([...knownCommands].sort());
    });

    test('prints with --json on stdout exactly what svc schema describes', async () => {
      interface Schemas {
        output: Record<string, unknown>;
        preview?: Record<string, unknown>;
      }
      let checked = 0;
      const check = async ({ words, mutates }: (typeof commands)[number]) => {
        const described = await svc(['schema', ...words.split(' '), '--json']);
        const { output, preview } = described.json<Schemas>();
        expect([words, mutates]).toEqual([words, preview !== undefined]);
        const { args, ...rest } = await commandLine(words, world);
        const forms = mutates ? [['--json'], ['--json', '--execute', '--yes']] : [['--json']];
        for (const form of forms) {
          const ran = await svc([...args, ...form], rest);
          expect([words, ...form, ran.code, ran.stderr]).toEqual([words, ...form, 0, expect.any(String)]);
          const schema = mutates && !form.includes('--execute') ? preview! : output;
          expect([words, violations(schema, ran.json())]).toEqual([words, []]);
          checked += 1;
        }
      };
      // These change the same password: one after the other.
      const isOfPassword = ({ words }: (typeof commands)[number]) =>
        /^account (?:password|factors)/.test(words);
      const chosen = everyNth(commands, nth);
      await mapConcurrently(
        chosen.filter((command) => !isOfPassword(command)),
        check,
      );
      await mapConcurrently(chosen.filter(isOfPassword), check, 1);
      console.log(
        `cli: ${Math.ceil(commands.length / nth)} commands, ${checked} JSON outputs checked against their schemas`,
      );
    });

    test('prints the same data as JSON lines and as YAML, and a table for people', async () => {
      const reads = commands.filter(({ words, mutates }) => !mutates && / (?:list|get|mine)$/.test(words));
      // Created first: a list that grows while it is printed cannot be compared.
      const lines = await mapConcurrently(
        everyNth(reads, nth),
        async ({ words }) => (await commandLine(words, world)).args,
      );
      await mapConcurrently(lines, async (args) => {
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
      });
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
      const asked = await mapConcurrently(everyNth(everything, nth), async ({ words, kind, help }) => {
        const typed = words === '' ? [] : words.split(' ');
        // Some groups run one of their commands when they are typed alone.
        const isRun = kind === 'command' || help.includes(`svc ${words} without a command is `);
        const forms = [['help', ...typed], [...typed, '-h'], ...(isRun ? [] : [typed])];
        const ran = await Promise.all(forms.map((form) => svc(form, { env: nowhere })));
        for (const it of ran) expect([words, it.code, it.stdout, it.stderr]).toEqual([words, 0, help, '']);
        return ran.length;
      });
      console.log(
        `cli: ${everything.length} helps, requested ${asked.reduce((sum, ways) => sum + ways, asked.length)} times`,
      );
    });

    test('refuses an unknown flag before any request: exit 2, nothing on stdout, the flag named', async () => {
      await mapConcurrently(everyNth(commands, nth), async ({ words }) => {
        const { args, ...rest } = await commandLine(words, world);
        const ran = await svc([...args, '--no-such-flag'], { ...rest, env: { ...rest.env, ...nowhere } });
        expect([words, ran.code, ran.stdout]).toEqual([words, 2, '']);
        expect(ran.stderr).toContain('--no-such-flag');
      });
    });

    test('refuses one argument too many, or too few, before any request: exit 2', async () => {
      await mapConcurrently(everyNth(commands, nth), async ({ words, help }) => {
        const usage = /^ {2}(svc .*)$/m.exec(help)![1]!;
        const { args, ...rest } = await commandLine(words, world);
        const env = { ...rest.env, ...nowhere };
        if (!usage.includes('...')) {
          const more = await svc([...args, 'one-too-many'], { ...rest, env });
          expect([words, more.code, more.stdout]).toEqual([words, 2, '']);
        }
        const needs = usage.replace(/\[[^\]]*\]/g, '').replace(`svc ${words}`, '');
        if (!needs.includes('<')) return;
        const less = await svc(words.split(' '), { ...rest, env });
        expect([words, less.code, less.stdout]).toEqual([words, 2, '']);
      });
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
      const ran = await svc(typed, { env: nowhere });
      expect([ran.code, ran.stdout]).toEqual([2, '']);
      expect(ran.stderr).toContain(meant);
    });

    test('with --json the problem on stderr is one JSON object', async () => {
      for (const typed of [
        ['grnats', '--json'],
        ['grants', 'list', '--nope', '-o', 'json'],
        ['-o=json', 'nope'],
      ]) {
        const ran = await svc(typed, { env: nowhere });
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
      const ran = await svc(typed, { env: nowhere });
      expect([ran.code, ran.stdout]).toEqual([2, '']);
      expect(ran.stderr).not.toBe('');
    });
  });
}
