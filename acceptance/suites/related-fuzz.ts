import { beforeAll, test } from 'bun:test';
import { done } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { insertLines, newTable, type RowsWorld, rowsWorld } from '../support/rows.ts';
import { checkLogs, escapeSearch, fuzz, type Sent, startLogged } from './fuzz-server.ts';
import { decodeOrKeep, marks, mutateText, randomBytes, valueWithMarker } from './hostile-rows.ts';
import { makeQuery } from './random-queries.ts';
import { jsonText, urlText } from './random-values.ts';
import type { ModelColumn, ModelRow } from './row-model.ts';

type Name = 'makers' | 'things' | 'parts';

const column = (name: string, type: ModelColumn['type']): ModelColumn => ({ name, type, nullable: true });
const columns: Record<Name, ModelColumn[]> = {
  makers: [column('name', 'text'), column('since', 'int')],
  things: [
    column('title', 'text'),
    column('body', 'text'),
    column('no', 'int'),
    column('big', 'bigint'),
    column('price', 'float'),
    column('at', 'timestamptz'),
    column('code', 'uuid'),
    column('more', 'jsonb'),
  ],
  parts: [column('note', 'text'), column('weight', 'float')],
};
/** Text in a select, the key, and the table behind it. */
const relations: Record<Name, readonly [text: string, to: Name][]> = {
  makers: [
    ['things!maker', 'things'],
    ['things!other', 'things'],
  ],
  things: [
    ['maker', 'makers'],
    ['other', 'makers'],
    ['makers!other', 'makers'],
    ['parts', 'parts'],
    ['parts', 'parts'],
  ],
  parts: [['thing', 'things']],
};
const functions = ['count', 'sum', 'avg', 'min', 'max', 'count_distinct', 'month', 'week', 'hour', 'median'];
const numbers = /int|float/;
const ordered = /int|float|text|timestamptz/;
const times = /timestamptz/;
/** Of which types the functions are. */
const functionTypes = [/./, numbers, numbers, ordered, ordered, /text|int|uuid/, times, times, times, /^$/];
const zones = ['', 'Europe/Berlin', 'UTC', marks.text, "'; drop table x", '+25:00'];

/** Fuzzed requests with related rows, groups, searches, feeds, history, files and batches. */
export function relatedFuzz(size: {
  embeds?: number;
  groups?: number;
  searches?: number;
  calls?: number;
}): void {
  const random = newRandom();
  let ground: RowsWorld;
  const rows: Record<Name, ModelRow[]> = { makers: [], things: [], parts: [] };
  const ids: Record<Name, string[]> = { makers: [], things: [], parts: [] };

  beforeAll(async () => {
    ground = await rowsWorld(await startLogged());
    const specs = (name: Name) => columns[name].map((each) => `${each.name}:${each.type}:nullable`);
    const logged = { history: '30d', soft_delete: '30d', changes: true };
    await newTable(ground, 'makers', [...specs('makers'), 'logo:file:nullable'], logged);
    await newTable(ground, 'things', [
      ...specs('things'),
      'maker:ref:makers:nullable',
      'other:ref:makers:nullable',
    ]);
    await newTable(ground, 'parts', ['id:text', ...specs('parts'), 'thing:ref:things:nullable']);
    const index = { search: { title: 'A', body: 'B' }, language: 'english' };
    await done(ground.owner.call('POST', `${ground.tables}/things/indexes`, index));
    await fill('makers', 5, {});
    await fill('things', 30, { maker: 'makers', other: 'makers' });
    await fill('parts', 60, { thing: 'things' });
    console.log(`rows fuzz: seed ${random.seed}`);
  });

  async function fill(name: Name, count: number, refs: Record<string, Name>): Promise<void> {
    rows[name] = random.times(
      count,
      () => new Map(columns[name].map((each) => [each.name, valueWithMarker(random, each.type)])),
    );
    const lines = rows[name].map((row, at) => {
      const members = columns[name].map(
        (each) => `"${each.name}":${jsonText(each.type, row.get(each.name) ?? null, random)}`,
      );
      for (const [ref, to] of Object.entries(refs)) members.push(`"${ref}":"${random.pick(ids[to])}"`);
      if (name === 'parts') members.push(`"id":"${marks.text}-${at}"`);
      return `{${members.join(',')}}`;
    });
    ids[name] = (await insertLines(ground.owner, `${ground.data}/${name}`, lines)).map(String);
  }

  const anyTable = () => random.pick<Name>(['makers', 'things', 'things', 'things', 'parts']);
  const spoiled = (text: string) =>
    random.pick([
      text,
      text,
      text,
      ...random.times(4, () => mutateText(random, text)),
      `${text}&${randomBytes(random)}`,
    ]);
  const operandOf = (each: ModelColumn) =>
    encodeURIComponent(urlText(each.type, valueWithMarker(random, each.type), random));
  const quoted = (each: ModelColumn) =>
    `%22${encodeURIComponent(decodeURIComponent(operandOf(each)).replace(/["\\]/g, '\\$&'))}%22`;
  const testOf = (prefix: string, table: Name) => {
    const each = random.pick(columns[table]);
    const textOps = each.type === 'text' || random.chance(0.05) ? ['like', 'has', 'isw'] : [];
    const op = random.pick(['eq', 'neq', 'gt', 'not.lt', 'in', 'is', ...textOps]);
    const value = op === 'is' ? 'null' : op === 'in' ? `(${quoted(each)})` : operandOf(each);
    return `${prefix}${each.name}=${op}.${value}`;
  };

  const conditionOf = (table: Name) => {
    const each = random.pick(columns[table]);
    return `${each.name}.eq.${quoted(each)}`;
  };

  interface Made {
    select: string;
    parameters: string[];
  }

  function makeSelect(table: Name, prefix: string, depth: number): Made {
    const items = random.some(columns[table], 1 + random.below(3)).map(({ name }) => name);
    if (random.chance(0.2)) items.push(random.pick(['*', `${marks.text}:id`, 'id']));
    const parameters: string[] = [];
    const count = random.pick(
      depth === 0 ? [1, 1, 2, 3] : depth === 3 && random.chance(0.95) ? [0] : [0, 0, 1],
    );
    for (let at = 0; at < count; at++) {
      const [text, to] = random.pick(relations[table]);
      const name = text.replace(/!.*/, '');
      const key = at > 0 || random.chance(0.4) ? `${random.pick(['e', marks.text, 'A'])}${at}` : name;
      const isMany = /^(?:things|parts)/.test(text);
      const inner = makeSelect(to, `${prefix}${key}.`, depth + 1);
      const join = random.pick(['', '', '!inner', '!left']);
      items.push(
        `${key === name ? '' : `${key}:`}${text}${join}(${random.chance(0.05) ? '' : inner.select})`,
      );
      parameters.push(...inner.parameters);
      const own = `${prefix}${key}`;
      const more: (() => string)[] = [
        () => testOf(`${own}.`, to),
        ...(isMany || random.chance(0.05)
          ? [
              () => `${own}.sort=-${random.pick(columns[to]).name}`,
              () => `${own}.${random.pick(['limit', '_limit'])}=${random.pick(['1', '5', '100', marks.int])}`,
            ]
          : []),
        () =>
          `${own}=${random.pick(['is.null', 'not.is.null', 'is.null', 'not.is.null', `eq.${marks.text}`])}`,
        () => `${prefix}or=(${key}.is.null,${conditionOf(table)})`,
        () => `${own}.or=(${conditionOf(to)})`,
      ];
      for (const make of random.some(more, random.below(3))) parameters.push(make());
    }
    return { select: items.join(','), parameters };
  }

  const throughOne = (table: Name): string => {
    const [name, to] = random.pick(relations[table]);
    const path = name.replace(/!.*/, '');
    const each = random.pick(columns[to]).name;
    return random.pick([
      testOf(`${path}.`, to),
      `sort=${random.pick(['', '-'])}${path}.${each}`,
      `or=(${path}.${conditionOf(to)},${random.pick(columns[table]).name}.is.null)`,
      `thing.maker.name=eq.${marks.text}`,
      `distinct=${path}.${each}`,
    ]);
  };

  function embedRequest(): Sent {
    const table = anyTable();
    const { select, parameters } = makeSelect(table, '', 0);
    const own = makeQuery(random, columns[table], rows[table]).parameters;
    const all = [
      `select=${encodeURIComponent(select)}`,
      ...parameters,
      ...random.some(
        own.filter((text) => !text.startsWith('select=')),
        random.below(3),
      ),
      ...(random.chance(0.3) ? [throughOne(table)] : []),
      ...(random.chance(0.1) ? [`per_page=${random.pick(['1', '200', '0'])}`] : []),
    ];
    const id = encodeURIComponent(random.pick(ids[table]));
    const place = random.pick(['', '', '', '/_count', `/${id}`]);
    const sent = place === `/${id}` ? all.slice(0, 1 + parameters.length) : all;
    return { path: `/${table}${place}?${escapeSearch(spoiled(sent.join('&')))}` };
  }

  function groupRequest(): Sent {
    const table = anyTable();
    const keys: string[] = [];
    const items = random.times(1 + random.below(4), (at) => {
      const key = random.pick([`k${at}`, `${marks.text}${at}`]);
      keys.push(key);
      const { name, type } = random.pick(columns[table]);
      const isWild = random.chance(0.1);
      const fitting = functions.filter((_, of) => isWild || functionTypes[of]!.test(type));
      const zone = random.chance(isWild ? 0.5 : 0) ? random.pick(zones) : '';
      const call = `${name}.${random.pick(fitting)}(${zone})`;
      return `${key}:${type === 'jsonb' && !isWild ? 'count()' : random.pick([name, call, call, 'count()'])}`;
    });
    const value = () =>
      random.pick([marks.int, marks.int, marks.int, '1', `%22${marks.text}%22`, marks.bigint]);
    const having = () =>
      `${random.pick(keys)}.${random.pick(['is.null', 'not.is.null', ...['gt', 'eq', 'not.lt', 'like'].map((op) => `${op}.${value()}`)])}`;
    const { parameters } = makeQuery(random, columns[table], rows[table]);
    const all = [
      `select=${encodeURIComponent(items.join(','))}`,
      ...random.times(random.below(3), () => `${random.pick(['having', '_having'])}=${having()}`),
      ...(random.chance(0.2) ? [`having=or(${having()},${having()})`] : []),
      ...(random.chance(0.4) ? [`sort=${random.pick(['', '-'])}${random.pick(keys)}`] : []),
      ...parameters.filter((text) => !/^(?:sort|select)=/.test(text)),
      ...(random.chance(0.1) ? [throughOne(table)] : []),
    ];
    const headers: Record<string, string> = random.chance(0.1) ? { accept: 'text/csv' } : {};
    return { path: `/${table}/_aggregate?${escapeSearch(spoiled(all.join('&')))}`, headers };
  }

  const words = [
    marks.text,
    `"${marks.text} tea"`,
    `-${marks.text}`,
    'or',
    'the',
    ':*',
    '&',
    '!',
    "'",
    '\\',
    '<->',
    '"',
    marks.int,
    '日本',
  ];

  function searchRequest(): Sent {
    const search = random
      .times(1 + random.below(5), () => random.pick(words))
      .join(random.pick([' ', '', '  ']));
    const { parameters } = makeQuery(random, columns.things, rows.things);
    const all = [
      `${random.pick(['search', '_search'])}=${encodeURIComponent(search)}`,
      ...random.some(parameters, random.below(3)),
      ...(random.chance(0.3) ? [`distinct=${random.pick(columns.things).name}`] : []),
      ...(random.chance(0.2) ? ['select=no,maker(name)'] : []),
      ...(random.chance(0.2) ? [throughOne('things')] : []),
    ];
    const place = random.pick(['', '', '/_count', '/_aggregate']);
    if (place === '/_aggregate') all.push('select=no,count()');
    const headers: Record<string, string> = random.chance(0.1) ? { accept: 'text/csv' } : {};
    // Without a page it is an export, of which only a few may run at a time.
    if (headers.accept && place === '') return { path: '/things?search=x&per_page=5', headers };
    return {
      path: `/${random.chance(0.95) ? 'things' : 'makers'}${place}?${escapeSearch(spoiled(all.join('&')))}`,
      headers,
    };
  }

  const json = { 'content-type': 'application/json' };
  const fuzzedJson = (value: unknown) => {
    const text = JSON.stringify(value);
    return random.chance(0.4) ? text : decodeOrKeep(mutateText(random, text));
  };

  function batchOperation(at: number): object {
    const table = random.pick(['makers', 'things', 'things', 'parts', marks.text]);
    const reference = () =>
      random.pick<unknown>([
        { $ref: 'r0.id' },
        { $ref: `${random.pick(['r0', 'r1', marks.text])}.${random.pick(['id', 'name', marks.text])}` },
        { $ref: marks.int },
        { $ref: 1 },
        random.pick(ids.makers),
        null,
      ]);
    const values = { title: marks.text, no: Number(marks.int), maker: reference() };
    const own =
      table === 'makers'
        ? { name: marks.text }
        : table === 'parts'
          ? { id: marks.text, thing: reference() }
          : values;
    return {
      op: random.pick(['insert', 'insert', 'update', 'delete', 'upsert', marks.text]),
      table,
      ...(random.chance(0.7) ? { as: random.pick([`r${at}`, 'r0', marks.text]) } : {}),
      ...(random.chance(0.8) ? { values: own } : {}),
      ...(random.chance(0.4) ? { id: reference() } : {}),
      ...(random.chance(0.1) ? { on_conflict: random.pick(['id', 'name', marks.text]) } : {}),
      ...(random.chance(0.1) ? { resolution: random.pick(['merge', 'ignore', marks.text]) } : {}),
      ...(random.chance(0.1) ? { if_match: random.pick(['"1"', marks.text]) } : {}),
    };
  }

  function otherRequest(): Sent {
    const table = random.chance(0.8) ? 'makers' : anyTable();
    const id = encodeURIComponent(random.pick([random.pick(ids[table]), marks.uuid, marks.text]));
    const filter = testOf('', table);
    const search = (...parts: string[]) => escapeSearch(spoiled(parts.join('&')));
    const pages = `per_page=${random.pick(['1', '500', '0', marks.int])}&page=${random.pick(['1', '2', '-1'])}`;
    const dry = 'dry_run=true';
    const file = {
      column: random.pick(['logo', 'name', marks.text]),
      name: random.pick([marks.text, `../${marks.text}`, '']),
      type: random.pick(['image/png', marks.text]),
      size: random.pick([1, Number(marks.int), -1]),
    };
    const restore = { request_id: random.pick([marks.text, marks.uuid, Number(marks.int)]) };
    return random.pick<() => Sent>([
      () => ({ path: `/${table}/${id}/_history?${search(pages)}` }),
      () => ({ path: `/${table}/_trash?${search(pages, ...(random.chance(0.5) ? [filter] : []))}` }),
      () => ({ method: 'POST', path: `/${table}/${id}/_restore?${search(dry)}` }),
      () => ({ method: 'POST', path: `/${table}/_restore`, body: fuzzedJson(restore), headers: json }),
      () => ({ path: `/${table}/${id}/_files/${random.pick(['logo', 'name', marks.text, '%00'])}` }),
      () => ({ method: 'POST', path: `/${table}/_files`, body: fuzzedJson(file), headers: json }),
      // A valid one is a stream; most are refused.
      () => ({
        path: `/${random.chance(0.1) ? 'makers' : 'parts'}/_changes?${search(filter, 'snapshot=true', 'select=name')}`,
        headers: random.chance(0.5) ? { 'last-event-id': marks.text } : {},
      }),
      () => ({
        method: random.pick(['PATCH', 'DELETE']),
        path: `/${table}?${search(filter, dry, `max_affected=${random.pick(['1', '100', marks.int, ''])}`)}`,
        body: fuzzedJson({ [columns[table][0]!.name]: marks.text }),
        headers: json,
      }),
      () => ({
        method: 'POST',
        path: `/_batch?${random.pick([dry, dry, ''])}`,
        body: fuzzedJson({ operations: random.times(1 + random.below(4), batchOperation) }),
        headers: json,
      }),
    ])();
  }

  const parts = [
    ['query strings with related rows', size.embeds, embedRequest],
    ['query strings of groups', size.groups, groupRequest],
    ['searches', size.searches, searchRequest],
    ['calls of history, trash, files, feeds, changes by filter and batches', size.calls, otherRequest],
  ] as const;
  for (const [name, count = 0, make] of parts)
    if (count > 0)
      test(`fuzzed ${name} are refused or answered: 0 answers are 5xx`, async () => {
        await fuzz(ground, name, count, () => {
          const sent = make();
          return { ...sent, path: ground.data + sent.path };
        });
      });

  const all = parts.reduce((sum, [, count = 0]) => sum + count, 0);
  checkLogs(() => ground.server, { statements: all / 10, marked: all / 40 });
}
