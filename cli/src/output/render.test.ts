import { afterEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { useFakeServer } from '../../testing/fake-server.ts';
import { fieldLines, tableLines, textWidth, truncate, wrap } from '../framework/layout.ts';
import { cellText, sanitize } from '../framework/text.ts';
import { supportsUnicode } from './render.ts';
import { relativeTime } from './times.ts';

const style = { width: 40, colour: false, unicode: true };
const wide = fc.string({
  unit: fc.constantFrom('a', 'é', '日', '👩‍👩‍👧', 'ß', '한', ' ', '\u0301'),
  maxLength: 60,
});

describe('width', () => {
  test('truncation never exceeds the width and never splits a character', () => {
    fc.assert(
      fc.property(wide, fc.integer({ min: 4, max: 50 }), (text, width) => {
        const short = truncate(text, width, style);
        expect(textWidth(short)).toBeLessThanOrEqual(Math.max(width, textWidth(text) <= width ? width : 1));
        if (short !== text) expect(text.startsWith(short.slice(0, -1))).toBe(true);
      }),
    );
  });

  test('wrapping keeps every character but spaces at the breaks', () => {
    fc.assert(
      fc.property(wide, fc.integer({ min: 4, max: 50 }), (text, width) => {
        const lines = wrap(text, width);
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
        expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      }),
    );
  });

  test('a table fits, with the first column whole', () => {
    const id = '0198c1f2-7b1e-7c3a';
    const rows = [[id, 'a long name that needs cutting', '日本語のとても長い名前です']];
    const lines =
      tableLines({ titles: ['ID', 'NAME', 'TITLE'], keep: [true, false, false], rows }, style) ?? [];
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(40);
    expect(lines[1]).toStartWith(id);
    expect(lines[1]).toContain('…');
  });

  test('a table that does not fit reports that, and nothing is truncated without a limit', () => {
    const rows = [['x'.repeat(50), 'y'.repeat(50)]];
    const grid = { titles: ['A', 'B'], keep: [true, false], rows };
    expect(tableLines(grid, style)).toBeNull();
    expect(tableLines(grid, { ...style, width: null })?.[1]).toBe(`${'x'.repeat(50)}  ${'y'.repeat(50)}`);
  });

  test('columns of wide characters line up', () => {
    const rows = [
      ['日本', '1'],
      ['ab', '2'],
    ];
    const lines =
      tableLines({ titles: ['N', 'V'], keep: [false, false], rows }, { ...style, width: null }) ?? [];
    expect(lines.map((line) => textWidth(line))).toEqual([7, 7, 7]);
  });

  test('fields of one record fit, however narrow', () => {
    for (const width of [20, 40, 80]) {
      const fields = [
        { name: 'id', value: '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c' },
        { name: 'scope_resource_paths', value: 'sales, hr/people, finance/ledger' },
      ];
      const text = fieldLines(fields, { nameWidth: 20, width, bold: (it) => it });
      for (const line of text.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(width);
    }
  });
});

describe('text from the server', () => {
  test('contains no control characters', () => {
    expect(sanitize('a\u001b[31mred\u0007\nb\tc\u202e')).toBe('a\\x1b[31mred\\x07 b c');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(sanitize(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });

  test('becomes one line, whatever its type', () => {
    expect([
      cellText(null),
      cellText(''),
      cellText(0),
      cellText(false),
      cellText(['a', 1]),
      cellText({ a: [1] }),
      cellText([{ a: 1 }]),
    ]).toEqual(['', '', '0', 'false', 'a, 1', '{"a":[1]}', '[{"a":1}]']);
  });
});

test.each([
  [{ LC_ALL: 'C', LANG: 'en_US.UTF-8' }, false],
  [{ LANG: 'en_US.UTF-8' }, true],
  [{ LC_CTYPE: 'C.utf8' }, true],
  [{ LC_ALL: 'ja_JP.eucJP' }, false],
  [{}, false],
])('locale %j: Unicode %p', (env, expected) => {
  expect(supportsUnicode(env)).toBe(expected);
});

describe('a table for people', () => {
  const server = useFakeServer();
  const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';
  const now = new Date('2026-11-16T12:00:00Z');
  const connector = {
    id,
    slug: 'warehouse',
    name: 'The warehouse of the whole company',
    kind: 'postgres',
    description: 'A long description that nobody reads to its end, because it goes on and on',
  };
  const deployment = {
    id,
    seq: 12,
    state: 'superseded',
    kind: 'source',
    trigger: 'push',
    commit: 'a'.repeat(40),
    created_at: '2026-11-16T11:57:00.123Z',
    failure: null,
  };
  const answer = (item: object) => {
    server.intercept = () => Response.json({ items: [item], page: 1, per_page: 50, total: 1 });
  };
  afterEach(() => {
    server.intercept = undefined;
  });
  const terminal = { terminal: true, columns: 80, now };

  test.each([40, 60, 80, 120])('fits %d columns', async (columns) => {
    for (const [item, words] of [
      [connector, ['connectors', 'list']],
      [deployment, ['deployments', 'list', '--app', 'shop']],
    ] as const) {
      answer(item);
      const { out } = await server.svc([...words], { ...terminal, columns, env: { NO_COLOR: '1' } });
      for (const line of out.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  test('leaves out ids before it shortens a name, and says so', async () => {
    answer(connector);
    const { out, err } = await server.svc(['connectors', 'list'], terminal);
    expect(out).not.toContain(id);
    expect(out).toContain('The warehouse of the whole company');
    expect(err).toContain('Not shown for lack of room: id. Use -o wide.');
    answer({ ...deployment, commit: null });
    const list = await server.svc(['deployments', 'list', '--app', 'shop'], terminal);
    expect(list.out).toContain('superseded');
    expect(list.out).toContain('3 minutes ago');
  });

  test('has the kind and the app first where there is no room for an id', async () => {
    const review = {
      id,
      kind: 'publication',
      app_slug: 'the-shop-of-the-whole-company',
      status: 'pending',
      visibility: 'public',
      visibility_before: 'private',
      requested_by_email: 'ada.lovelace@example.com',
      requested_at: '2026-11-16T11:57:00.123Z',
      note: 'please look at the prices before the weekend',
    };
    answer(review);
    const { out } = await server.svc(['review', 'list'], { ...terminal, env: { NO_COLOR: '1' } });
    expect(out).toMatch(/^KIND +APP .*\npublication +the-shop-of-the-whole-company +pending /);
    for (const line of out.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(80);
  });

  const longUrl = 'https://feature-login--pet-shop.apps.example.com/';
  const at = '2026-11-16T11:57:00.123Z';
  const run = { id, state: 'failed', exit_code: 1, created_at: at, ended_at: at, path: null };
  test.each([
    [
      ['previews', 'list', '--app', 'shop'],
      {
        slug: 'feature-login--pet-shop',
        branch: 'feature/login',
        deployment: { state: 'superseded' },
        commit: 'a'.repeat(40),
        pushed_at: at,
        expires_at: at,
        url: longUrl,
      },
      ['feature/login', longUrl],
    ],
    [
      ['runs', 'list', '--app', 'shop'],
      { ...run, command: 'npm run migrate -- --to 20261116' },
      ['failed', 'npm run migrate -- --to 20261116'],
    ],
    [
      ['schedules', 'runs', 'nightly', '--app', 'shop'],
      { ...run, due_at: at, started_at: at, failure: 'The command ended with exit code 1.' },
      ['failed', 'The command ended with exit code 1.'],
    ],
  ])('has the most useful column whole at 80 columns: %p', async (words, item, texts) => {
    answer(item);
    const { out } = await server.svc(words, { ...terminal, env: { NO_COLOR: '1' } });
    for (const text of texts) expect(out).toContain(text);
    for (const line of out.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(80);
    expect(out.trim().split('\n')).toHaveLength(2);
  });

  test('of rows leaves out ids before it cuts the first column', async () => {
    const row = {
      id,
      author: id,
      label: 'A Philosophy of Software Design',
      pages: 196,
      description: 'How to decompose complex systems into modules',
      created_at: at,
    };
    server.intercept = () =>
      Response.json({ data: [row], page: 1, per_page: 50, has_more: false, next_cursor: null });
    const { out, err } = await server.svc(['rows', 'list', 'books', '--app', 'shop'], {
      ...terminal,
      env: { NO_COLOR: '1' },
    });
    expect(out).toContain(row.label);
    expect(out).toContain('196');
    expect(err).toContain('Not shown for lack of room: id, author');
    for (const line of out.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(80);
  });

  test('shows everything and exact times with -o wide', async () => {
    answer(deployment);
    const { out } = await server.svc(['deployments', 'list', '--app', 'shop', '-o', 'wide'], terminal);
    expect(out).toContain(id);
    expect(out).toContain('2026-11-16T11:57:00.123Z');
  });

  test('has the columns of --columns, in that order, and no first line with --no-headers', async () => {
    answer(connector);
    const list = (...flags: string[]) => server.svc(['connectors', 'list', ...flags], terminal);
    expect((await list('--columns', 'kind,slug', '--no-headers')).out).toBe('postgres  warehouse\n');
    const wrong = await list('--columns', 'kind,nope');
    expect([wrong.exit, wrong.err.includes('Choose from id, slug')]).toEqual([2, true]);
    expect((await list('--columns', 'kind', '--json')).exit).toBe(2);
  });

  test('prints the whole result of an executed change if a name of --columns is wrong', async () => {
    const create = ['pats', 'create', '--tenant', 'acme', '--name', 'ci', '--columns', 'nope'];
    server.intercept = () =>
      Response.json({ id: '1', name: 'ci', actions: ['read'], secret: 'once' }, { status: 201 });
    for (const more of [[], ['-o', 'csv']]) {
      const ran = await server.svc([...create, ...more, '--execute']);
      expect(ran).toMatchObject({ exit: 0, out: expect.stringContaining('once') });
      expect(ran.err).toContain('--columns: there is no "nope". The change was made');
    }
  });

  test('shows names in place of ids', async () => {
    const grant = {
      id,
      subject_id: 'u',
      connector_id: 'c',
      preset_id: 'p',
      status: 'active',
      scope_resource_paths: [],
    };
    const named: Record<string, object> = {
      grants: grant,
      connectors: { id: 'c', slug: 'warehouse', name: 'W' },
      presets: { id: 'p', name: 'reader' },
      members: { user_id: 'u', email: 'ada@example.com', name: 'Ada' },
    };
    server.intercept = (_, { path }) => {
      const item = named[path.split('/').at(-1) ?? ''];
      return Response.json({ items: item ? [item] : [], page: 1, per_page: 50, total: 1 });
    };
    const { out } = await server.svc(['grants', 'list'], terminal);
    for (const name of ['ada@example.com', 'warehouse', 'reader', id]) expect(out).toContain(name);
    expect(JSON.parse((await server.svc(['grants', 'list', '--json'])).out).items).toEqual([grant]);
  });

  test('is CSV with -o csv, with the names and values of the JSON output', async () => {
    answer({ ...connector, description: 'a "b", c' });
    const { out } = await server.svc(['connectors', 'list', '-o', 'csv']);
    expect(out).toBe(
      `id,slug,name,kind,description\r\n${id},warehouse,The warehouse of the whole company,postgres,"a ""b"", c"\r\n`,
    );
  });

  test('is filtered by --jq, whose faults are found before the command runs', async () => {
    answer(connector);
    const list = (jq: string, ...more: string[]) => server.svc(['connectors', 'list', '--jq', jq, ...more]);
    expect((await list('.items[].slug')).out).toBe('warehouse\n');
    expect((await list('.items[0] | {kind}')).out).toBe('{\n  "kind": "postgres"\n}\n');
    server.seen = [];
    expect((await list('.items[')).exit).toBe(2);
    expect(server.seen).toEqual([]);
    expect((await list('.items.a')).err).toContain('Cannot index array');
    expect((await list('.', '-o', 'yaml')).exit).toBe(2);
  });
});

test.each([
  ['2026-11-16T12:00:00Z', 'just now'],
  ['2026-11-16T11:59:30Z', 'just now'],
  ['2026-11-16T11:57:00.500Z', '2 minutes ago'],
  ['2026-11-16T11:00:00Z', '1 hour ago'],
  ['2026-11-13T12:00:00Z', '3 days ago'],
  ['2026-09-01T12:00:00Z', '2 months ago'],
  ['2024-01-01T00:00:00Z', '2 years ago'],
  ['2026-11-16T12:00:20Z', 'in less than a minute'],
  ['2027-02-14T12:00:00Z', 'in 3 months'],
])('%s is %s', (time, text) => {
  expect(relativeTime(time, new Date('2026-11-16T12:00:00Z'))).toBe(text);
});
