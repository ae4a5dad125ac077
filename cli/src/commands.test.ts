import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { contract } from '@svc/contract/all.ts';
import { z } from 'zod';
import { useFakeServer } from '../testing/fake-server.ts';
import { folderWith, newFolder } from '../testing/run-svc.ts';
import type { Command } from './command.ts';
import { commandSchema } from './output/command-schema.ts';
import { commandWords, svc } from './registry.ts';

const server = useFakeServer();

const sum = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae';
const folder = folderWith({
  'policy.yaml': 'name: from a file\nactions: [read]\ncolumns:\n  mode: deny\n  names: [salary]\n',
  'pets.yaml':
    'description: from a file\nowner_column: keeper\ncolumns:\n  - name:text\n  - { name: keeper, type: uuid }\n',
  'orders.yaml': 'read: [own, role:manager]\ncolumns:\n  note: { write: [none] }\n',
  'tables.yaml':
    'roles: [manager]\ntables:\n  menu: { columns: [dish:text], access: { write: [role:manager] } }\n',
  'pet.json': '{"name":"Rex"}',
  'ops.json': '{"operations":[{"op":"insert","table":"pets","values":{"name":"Rex"}}]}',
  'pets.jsonl': '{"name":"Rex"}\n{"name":"Ada"}\n',
  'pets.csv': 'text\nRex\n',
  'svc.yaml': 'name: Pet Shop\napp:\n  slug: pet-shop\nstorage:\n  enabled: true\n',
  'icon.png': Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108000000', 'hex'),
  'site/a/index.html': '<p>',
  'release.json': JSON.stringify({ files: [{ path: 'index.html', sha256: sum, size: 3 }] }),
  'site.yaml': 'spa: true\nredirects:\n  - { from: /old/*, to: /new/:splat }\n',
});
const fileNames = [...readdirSync(folder), 'copy.json', 'bad.csv', 'old-pets.csv'];
const files = Object.fromEntries(fileNames.map((name) => [name, `${folder}/${name}`]));

const commands = await Promise.all(commandWords.map(svc.load));
/** Those that sign in or out, need a password or a profile, or print what a command prints, are tested on their own. */
const withLogin = [
  'login',
  'logout',
  'git-host link',
  'account password',
  'account factors remove',
  'profiles add',
  'profiles remove',
  'run',
];
const tested = commands.filter(({ words }) => !withLogin.includes(words));

function run(line: string, ...more: string[]) {
  const argv = [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", '')).slice(1);
  // The words of a command name no file.
  const named = argv.findIndex((_, at) => commandWords.includes(argv.slice(0, at + 1).join(' ')));
  const typed = argv.map((word, at) => (at > named ? (files[word] ?? word) : word));
  return server.svc([...typed, ...more], argv.includes('--password-stdin') ? { input: 'secret\n' } : {});
}

async function fits(command: Command, which: 'output' | 'preview', value: unknown) {
  const schema = (await commandSchema(command))[which];
  const parsed = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
  expect([command.words, parsed.error?.message]).toEqual([command.words, undefined]);
}

/** A copy to this machine changes nothing on the platform, so it does not preview. */
const downloadLine = 'svc apps storage cp :pets/pet.json copy.json --app pet-shop';

describe.each(tested.map((command) => [command.words, command] as const))('svc %s', (_, command: Command) => {
  const previews = command.kind === 'mutate';
  const bare = (line: string) => line.replace(/ (?:--execute|--json|-o \w+)/g, '');
  const lines = Object.keys(command.examples ?? {}).map((line) => bare(`svc ${command.words} ${line}`));

  test.each(lines)('%s prints JSON that matches its schema, and nothing else', async (line) => {
    const execute = ['--json', '--execute', ...(command.confirm ? ['--yes'] : [])];
    const changes = previews && line !== downloadLine;
    for (const flags of changes ? [['--json'], execute] : [['--json']]) {
      const ran = await run(line, ...flags);
      expect([ran.exit, ran.err.includes('Error')]).toEqual([0, false]);
      await fits(command, changes && flags.length === 1 ? 'preview' : 'output', JSON.parse(ran.out));
    }
  });

  test.each(['table', 'wide', 'jsonl', 'yaml', 'csv'])('prints as %s too', async (format) => {
    const ran = await run(lines[0] ?? '', '-o', format);
    expect([ran.exit, ran.out === '']).toEqual([0, false]);
  });
});

test('an absent flag is not sent, so that the server’s defaults apply', async () => {
  server.seen = [];
  await run('svc connectors list');
  await run('svc connectors create --name a --kind http');
  expect([server.seen[0]?.query.toString(), server.seen[1]?.body]).toEqual([
    '',
    '{"name":"a","kind":"http"}',
  ]);
});

test.each([
  ['svc categories update --id zed --name a', '/categories/zed'],
  ['svc categories update zed --name a', '/categories/zed'],
  ['svc review get --request-id zed', '/reviews/zed'],
  ['svc review get zed', '/reviews/zed'],
  ['svc connectors get zed', '/connectors/zed'],
])('%s names the thing in the path', async (line, path) => {
  await run(line);
  expect(server.seen.at(-1)?.path).toEndWith(path);
});

test('a deletion prints the id, also if the slug was given', async () => {
  for (const line of ['categories delete zed --yes', 'connectors delete zed', 'presets delete zed']) {
    const { deleted, id } = JSON.parse((await run(`svc ${line} --execute --json`)).out);
    expect([line, deleted, id === 'zed']).toEqual([line, true, false]);
  }
});

test('an empty name is a usage error before any request', async () => {
  server.seen = [];
  for (const argv of [
    ['apps', 'list', '--tenant', ''],
    ['apps', 'list', '--tenant='],
    ['tables', 'list', '--app', '', '--tenant', 'demo'],
  ]) {
    const ran = await server.svc(argv);
    expect([argv, ran.exit, ran.err.includes('must not be empty')]).toEqual([argv, 2, true]);
  }
  expect(server.seen).toEqual([]);
});

describe('svc policies create', () => {
  const sent = async (line: string) => {
    server.seen = [];
    const ran = await run(line);
    expect(ran.err).toBe('');
    return JSON.parse(server.seen[0]?.body ?? '');
  };

  test('sends every field that has a flag', async () => {
    const line =
      'svc policies create --name n --description d --connector c --resource-path s/t --actions read,write --row-filter a=eq.1 ' +
      `--columns-mode allow --columns a,b --mask 'email:partial:{"first":2}' --mask phone:hash --enabled=false`;
    expect(await sent(line)).toEqual({
      name: 'n',
      description: 'd',
      connector_id: 'c',
      resource_path: 's/t',
      actions: ['read', 'write'],
      row_filter: 'a=eq.1',
      columns: { mode: 'allow', names: ['a', 'b'] },
      masks: [
        { column: 'email', kind: 'partial', args: { first: 2 } },
        { column: 'phone', kind: 'hash', args: {} },
      ],
      enabled: false,
    });
  });

  test('accepts a file, and flags override it', async () => {
    expect(await sent('svc policies create --from-file policy.yaml --name other')).toEqual({
      name: 'other',
      actions: ['read'],
      columns: { mode: 'deny', names: ['salary'] },
    });
  });

  test.each([
    ['--name a --mask email', 'column:kind'],
    ['--name a --mask email:scramble', 'redact'],
    ['--name a --mask email:hash:[1]', 'JSON object'],
    ['--from-file /no/such/file', '/no/such/file'],
  ])('%s is rejected before any request', async (flags, named) => {
    server.seen = [];
    const ran = await run(`svc policies create ${flags}`);
    expect([ran.exit, server.seen]).toEqual([2, []]);
    expect(ran.err).toContain(named);
  });
});

describe('svc tables create', () => {
  const sent = async (line: string) => {
    server.seen = [];
    const ran = await run(line);
    expect(ran.err).toBe('');
    return JSON.parse(server.seen[0]?.body ?? '');
  };

  test('sends the flags, with columns as they were typed', async () => {
    const line =
      "svc tables create pets --app shop --column name:text --column 'at:timestamptz:nullable:2026-01-31T00:00:00Z' " +
      '--owner-column name --description d';
    expect(await sent(line)).toEqual({
      name: 'pets',
      columns: ['name:text', 'at:timestamptz:nullable:2026-01-31T00:00:00Z'],
      owner_column: 'name',
      description: 'd',
    });
    expect(server.seen[0]?.path).toBe('/api/v1/tenants/demo/apps/shop/tables');
  });

  test("takes a file, whose columns come before the flags' and whose fields give way to them", async () => {
    expect(
      await sent('svc tables create cats --app shop --schema pets.yaml --column age:int --description mine'),
    ).toEqual({
      name: 'cats',
      columns: ['name:text', { name: 'keeper', type: 'uuid' }, 'age:int'],
      owner_column: 'keeper',
      description: 'mine',
    });
  });

  test('accepts the output of tables get, without generated columns', async () => {
    const column = { type: 'text', nullable: false, default: null };
    const printed = {
      id: 'an id',
      version: 3,
      name: 'old',
      columns: [
        { ...column, name: 'id', type: 'bigint', generated: true },
        { ...column, name: 'name', generated: false },
        { ...column, name: 'created_at', type: 'timestamptz', generated: true },
      ],
    };
    const path = `${newFolder()}/printed.json`;
    await Bun.write(path, JSON.stringify(printed));
    expect(await sent(`svc tables create new --app shop --schema ${path}`)).toEqual({
      name: 'new',
      columns: [
        { ...column, name: 'id', type: 'bigint' },
        { ...column, name: 'name' },
      ],
    });
  });

  test('sends numbers of a default as they are written, from YAML and from JSON', async () => {
    const folder = newFolder();
    const lines = ['9007199254740993', '1.10', '1e400', '0x1f', 'true', 'null', "'7'"];
    const yaml = lines.map((value, at) => `  - { name: c${at}, type: bigint, default: ${value} }\n`).join('');
    await Bun.write(`${folder}/a.yaml`, `columns:\n${yaml}`);
    const defaults = async (path: string) =>
      (await sent(`svc tables create new --app shop --schema ${path}`)).columns.map(
        (column: { default: unknown }) => column.default,
      );
    expect(await defaults(`${folder}/a.yaml`)).toEqual([
      '9007199254740993',
      '1.10',
      '1e400',
      31,
      true,
      null,
      '7',
    ]);
    await Bun.write(
      `${folder}/a.json`,
      '{"columns":[{"name":"a","type":"bigint","default":9007199254740993}]}',
    );
    expect(await defaults(`${folder}/a.json`)).toEqual(['9007199254740993']);
  });

  test('rejects a file of another table', async () => {
    const path = `${newFolder()}/cats.yaml`;
    await Bun.write(path, 'name: cats\ncolumns: [name:text]\n');
    server.seen = [];
    const ran = await run(`svc tables create pets --app shop --schema ${path}`);
    expect([ran.exit, server.seen, ran.err.includes('"cats"')]).toEqual([2, [], true]);
    expect((await run(`svc tables create cats --app shop --schema ${path}`)).exit).toBe(0);
  });

  test.each([
    ['--column name', 'has no type'],
    ['--column name:string', 'string'],
    ['--column a:text --column a:int', '"a"'],
    ['--schema pets.yaml --column keeper:text', '"keeper"'],
    ['--schema /no/such/file', '/no/such/file'],
  ])('%s is rejected before any request', async (flags, named) => {
    server.seen = [];
    const ran = await run(`svc tables create pets --app shop ${flags}`);
    expect([ran.exit, server.seen]).toEqual([2, []]);
    expect(ran.err).toContain(named);
  });
});

test('svc tables columns update sends only the given fields', async () => {
  const sent = async (flags: string) => {
    server.seen = [];
    const { exit } = await run(`svc tables columns update pets age --app shop ${flags}`);
    return [exit, server.seen[0]?.body];
  };
  expect(await sent('--nullable=false')).toEqual([0, '{"nullable":false}']);
  expect(await sent('--default=')).toEqual([0, '{"default":""}']);
  expect(await sent('--no-default --nullable')).toEqual([0, '{"nullable":true,"default":null}']);
  expect(await sent('--type decimal(12,2)')).toEqual([0, '{"type":"decimal(12,2)"}']);
  expect(await sent('--min 0 --max= --max-length 9')).toEqual([
    0,
    '{"checks":{"min":"0","max":null,"max_length":9}}',
  ]);
  expect(await sent('')).toEqual([2, undefined]);
  expect(await sent('--max-length x')).toEqual([2, undefined]);
  expect(await sent('--default 1 --no-default')).toEqual([2, undefined]);
});

test('svc grants create --expires-in counts from now', async () => {
  server.seen = [];
  const began = Date.now();
  await run('svc grants create --subject a --connector b --preset reader --expires-in 1h');
  const { expires_at } = JSON.parse(server.seen[0]?.body ?? '');
  expect(Date.parse(expires_at) - began).toBeWithin(3_600_000, 3_605_000);
});

describe('--all', () => {
  test('follows pages to the end, and shows a row that moved only once', async () => {
    const ids = Array.from({ length: 450 }, (_, at) => ({ id: `id-${at}` }));
    let asked = 0;
    server.intercept = (_, { query }) => {
      asked += 1;
      // Between the pages a row is added at the top.
      const now = asked === 1 ? ids : [{ id: 'new' }, ...ids];
      const page = Number(query.get('page') ?? 1);
      return Response.json({
        items: now.slice((page - 1) * 200, page * 200),
        page,
        per_page: 200,
        total: now.length,
      });
    };
    const { items, total } = JSON.parse((await run('svc connectors list --all --json')).out);
    server.intercept = undefined;
    expect([asked, items.length, total]).toEqual([3, 450, 450]);
    expect(new Set(items.map(({ id }: { id: string }) => id)).size).toBe(450);
  });

  test('overrides --per-page and --limit, with a note', async () => {
    server.intercept = (_, { query }) => {
      const page = Number(query.get('page') ?? query.get('cursor') ?? 1);
      const ids = Array.from({ length: page === 1 ? 200 : 1 }, (_, at) => ({ id: `id-${page}-${at}` }));
      const total = query.has('limit') || query.get('per_page') !== '200' ? 1 : 201;
      return Response.json({ items: ids, page, per_page: 200, total, next_cursor: page === 1 ? '2' : null });
    };
    for (const words of ['apps search pet', 'apps discover']) {
      for (const flag of ['limit', 'per-page']) {
        const ran = await run(`svc ${words} --all --${flag} 1 --json`);
        expect([ran.exit, ran.err]).toEqual([0, `--${flag} is ignored because --all is given.\n`]);
        expect(JSON.parse(ran.out).items).toHaveLength(201);
      }
    }
    server.intercept = undefined;
  });

  test('follows cursors to the end', async () => {
    server.intercept = (_, { query }) => {
      const at = Number(query.get('cursor') ?? 0);
      return Response.json({ items: [{ seq: at }], next_cursor: at < 4 ? String(at + 1) : null });
    };
    const { items } = JSON.parse((await run('svc audit list --all --json')).out);
    server.intercept = undefined;
    expect(items).toHaveLength(5);
  });
});

test('these tests call every endpoint of the contract', () => {
  const met = new Set(commands.flatMap(({ endpoint }) => (endpoint === undefined ? [] : [endpoint.id])));
  const called = commands.flatMap(({ calls }) => (calls ?? '').split(/, (?:\w[^/]*? )?(?=[A-Z]+ )/));
  for (const { endpoint } of contract)
    if (called.some((text) => text === `${endpoint.method} ${endpoint.path}`)) met.add(endpoint.id);
  expect(contract.filter(({ endpoint }) => !met.has(endpoint.id)).map(({ endpoint }) => endpoint.id)).toEqual(
    // The console alone asks for grants.terms, releases.file and deployments.tableDrift, and adds second factors. The commands of reviews have the
    // endpoints for all kinds of requests.
    [
      'factors.addPasskey',
      'factors.addTotp',
      'factors.resetRecoveryCodes',
      'factors.startPasskey',
      'factors.startTotp',
      'members.set',
      'grants.terms',
      'policies.replace',
      'releases.file',
      'deployments.tableDrift',
      'publications.approve',
      'publications.get',
      'publications.list',
      'publications.listOfApp',
      'publications.reject',
      'publications.withdraw',
    ],
  );
});
