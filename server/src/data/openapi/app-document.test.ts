import { describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { rowContract } from '@svc/contract/all.ts';
import { type ColumnType, columnTypes } from '@svc/contract/columns.ts';
import { presetRules } from '@svc/contract/table-rules.ts';
import { ownersAccess } from '../rows/decide.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { type AppDocument, appDocument, type DescribedTable } from './app-document.ts';

const column = (name: string, more: Partial<CatalogueColumn> = {}): CatalogueColumn => ({
  name,
  physical: `p_${name}`,
  type: 'text',
  nullable: false,
  default: null,
  role: 'plain',
  ...more,
});

const id = column('id', { type: 'uuid', role: 'id', default: { kind: 'uuid_v7' } });
const readOnly = { ...ownersAccess, actions: new Set(['read', 'export'] as const) };
const writeOnly = { ...ownersAccess, actions: new Set(['insert', 'update', 'delete'] as const) };

function table(columns: CatalogueColumn[], more: Partial<DescribedTable> = {}): DescribedTable {
  const all = columns.some(({ role }) => role === 'id') ? columns : [id, ...columns];
  const catalogue: TableCatalogue = {
    id: '1',
    tenantId: '2',
    appId: '3',
    name: 'pets',
    schema: 's',
    table: 't',
    version: 1,
    columns: all,
    idColumn: all.find(({ role }) => role === 'id')!,
    owner: all.find(({ role }) => role === 'owner') ?? null,
    unique: [],
    rules: presetRules.own,
    changes: true,
    historyDays: 30,
    softDeleteDays: 30,
  };
  return { catalogue, description: '', access: ownersAccess, readable: all, ...more };
}

const of = (...tables: DescribedTable[]) =>
  appDocument('https://svc.example.test', { slug: 'acme' }, { slug: 'shop', name: 'The Shop' }, tables);

// biome-ignore lint/suspicious/noExplicitAny: a document is as deep as it is.
const schemaIn = (document: AppDocument, name: string): any => document.components.schemas?.[name];

/** Each operation as `method path`. */
const operationsIn = ({ paths }: AppDocument) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );

/** Every `$ref` in the document without a target. */
function lostRefs(document: AppDocument): string[] {
  const lost: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref' && typeof inner === 'string') {
        const parts = inner.split('/').slice(1);
        const found = parts.reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], document);
        if (found === undefined) lost.push(inner);
      } else visit(inner);
    }
  };
  visit(document);
  return lost;
}

describe('the document of an app', () => {
  const types: ColumnType[] = [...columnTypes, 'decimal(12,2)', 'enum(open,paid)'];
  const everyType = types.flatMap((type) => {
    const name = type.replace('[]', 's').replace(/\W.*/, '');
    return [column(name, { type }), column(`${name}_or_null`, { type, nullable: true })];
  });
  const withFiles = [column('photo', { type: 'file', nullable: true }), column('name')];
  test('files are uploaded and downloaded by those who may write and read a column of them', () => {
    const operations = (more: Partial<DescribedTable> = {}) =>
      Object.values(of(table(withFiles, more)).paths)
        .flatMap((methods) => Object.values(methods) as { operationId: string }[])
        .map(({ operationId }) => operationId)
        .filter((id) => id.endsWith('File'));
    expect(operations()).toEqual(['pets.signFile', 'pets.getFile']);
    expect(operations({ access: readOnly })).toEqual(['pets.getFile']);
    expect(operations({ access: writeOnly })).toEqual(['pets.signFile']);
    expect(operations({ readable: [id] })).toEqual(['pets.signFile']);
    expect(JSON.stringify(of(table([column('name')])).paths)).not.toContain('_files');
  });

  test('types with arguments, lists and checks are described', () => {
    const checks = { min: '0', max: '150' };
    const { properties, required } = schemaIn(
      of(
        table([
          column('age', { type: 'int', checks }),
          column('price', { type: 'decimal(5,2)', checks }),
          column('code', { checks: { min_length: 2, max_length: 3, pattern: '^[a-z]+$' } }),
          column('tags', { type: 'text[]', checks: { max_length: 9 } }),
          column('state', { type: 'enum(open,paid)', nullable: true }),
          column('no', { type: 'autonumber' }),
        ]),
      ),
      'petsRow',
    );
    expect(required).toContain('no');
    expect(properties).toMatchObject({
      age: { type: 'integer', minimum: 0, maximum: 150 },
      price: { type: 'string', format: 'decimal', description: expect.stringContaining('at least 0') },
      code: { type: 'string', minLength: 2, maxLength: 3, pattern: '^[a-z]+$' },
      tags: { type: 'array', maxItems: 9 },
      state: { type: ['string', 'null'], enum: ['open', 'paid', null] },
      no: { readOnly: true },
    });
  });

  const cases: [string, AppDocument][] = [
    ['without a table', of()],
    ['of every type', of(table(everyType))],
    ['that may be read only', of(table(everyType, { access: readOnly }))],
    ['that may be written only', of(table(everyType, { access: writeOnly }))],
    ['of a table with an id alone', of(table([]))],
    ['of a table with files', of(table(withFiles))],
    ['of two tables', of(table([column('a')]), named('toys', table([column('a', { type: 'int' })])))],
  ];

  test.each(cases)('%s is valid OpenAPI 3.1 without dangling references', async (_, document) => {
    const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    expect([result.errors, result.valid]).toEqual([undefined, true]);
    expect(lostRefs(document)).toEqual([]);
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((operation) => (operation as { operationId: string }).operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('has every row operation of the contract for each table, under its real path', () => {
    const expected = rowContract.map(({ endpoint }) => {
      const path = endpoint.path
        .replace('/data/{tenant}/{app}', '/data/acme/shop')
        .replace('{table}', 'pets');
      return `${endpoint.method} ${path}`;
    });
    expect(operationsIn(of(table([column('a')]))).sort()).toEqual(expected.sort());
    expect(of().servers).toEqual([{ url: 'https://svc.example.test' }]);
  });

  test('contains only permitted operations, and no row schema without read access', () => {
    const [read, write] = [
      of(table([column('a')], { access: readOnly })),
      of(table([column('a')], { access: writeOnly })),
    ];
    expect(new Set(operationsIn(read).map((line) => line.split(' ')[0]))).toEqual(new Set(['GET']));
    expect(new Set(operationsIn(write).map((line) => line.split(' ')[0]))).toEqual(
      new Set(['POST', 'PATCH', 'DELETE']),
    );
    expect(Object.keys(read.components.schemas!).sort()).toEqual([
      'Batch',
      'Preview',
      'Problem',
      'petsRow',
      'petsSelected',
    ]);
    expect(schemaIn(write, 'petsRow')).toBeUndefined();
    expect(write.components.parameters).toEqual({});
  });

  test('has another version after a table changes', () => {
    const version = (...tables: DescribedTable[]) => of(...tables).info.version;
    const one = version(table([column('a')]));
    expect(version(table([column('a')]))).toBe(one);
    for (const other of [
      [],
      [table([column('b')])],
      [table([column('a', { nullable: true })])],
      [table([column('a')], { description: 'Pets.' })],
      [table([column('a')], { access: readOnly })],
    ])
      expect(version(...other)).not.toBe(one);
  });
});

function named(name: string, described: DescribedTable): DescribedTable {
  return { ...described, catalogue: { ...described.catalogue, name } };
}

describe('the schemas of a table', () => {
  test.each([
    ['text', { type: 'string' }],
    ['int', { type: 'integer', format: 'int32' }],
    ['float', { type: 'number', format: 'double' }],
    ['bool', { type: 'boolean' }],
    ['timestamptz', { type: 'string', format: 'date-time' }],
    ['uuid', { type: 'string', format: 'uuid' }],
    ['bigint', { anyOf: [{ type: 'integer' }, { type: 'string' }] }],
  ] as const)('%s', (type, expected) => {
    const document = of(table([column('a', { type }), column('b', { type, nullable: true })]));
    const { a, b } = schemaIn(document, 'petsRow').properties;
    expect(a).toMatchObject(expected as object);
    if ('anyOf' in expected) expect(b.anyOf.at(-1)).toEqual({ type: 'null' });
    else expect(b).toMatchObject({ ...expected, type: [expected.type, 'null'] });
  });

  test('an insert lists required and optional columns; an update only changeable ones', () => {
    const document = of(
      table([
        column('must'),
        column('may', { nullable: true }),
        column('filled', { type: 'bool', default: { kind: 'literal', text: 'false' } }),
        column('large', { type: 'bigint', default: { kind: 'literal', text: '9223372036854775807' } }),
        column('whose', { role: 'owner' }),
        column('created_at', { type: 'timestamptz', role: 'created_at' }),
        column('updated_at', { type: 'timestamptz', role: 'updated_at' }),
      ]),
    );
    const insert = schemaIn(document, 'petsInsert');
    expect(insert.required).toEqual(['must']);
    expect(Object.keys(insert.properties)).toEqual(['id', 'must', 'may', 'filled', 'large', 'whose']);
    expect([insert.properties.filled.default, insert.properties.large.default]).toEqual([
      false,
      '9223372036854775807',
    ]);
    const update = schemaIn(document, 'petsUpdate');
    expect(Object.keys(update.properties)).toEqual(['must', 'may', 'filled', 'large']);
    expect(update.properties.filled).not.toHaveProperty('default');
    for (const schema of [insert, update]) expect(schema.additionalProperties).toBe(false);
    const row = schemaIn(document, 'petsRow');
    expect(row.required).toEqual(Object.keys(row.properties));
    expect([row.properties.created_at.readOnly, row.properties.must.readOnly]).toEqual([true, undefined]);
  });

  test('callers limited to their own rows cannot set the owner', () => {
    const access = { ...ownersAccess, insertsOwn: true };
    const document = of(table([column('a'), column('whose', { role: 'owner' })], { access }));
    expect(Object.keys(schemaIn(document, 'petsInsert').properties)).toEqual(['id', 'a']);
    expect(Object.keys(schemaIn(document, 'petsRow').properties)).toEqual(['id', 'a', 'whose']);
  });

  test('an id that is not generated is required', () => {
    const text = column('id', { type: 'text', role: 'id' });
    expect(schemaIn(of(table([text, column('a')])), 'petsInsert').required).toEqual(['id', 'a']);
  });

  test('each column is a parameter that lists the operators of its type', () => {
    const document = of(table([column('a'), column('b', { type: 'jsonb' }), column('c', { type: 'int' })]));
    const operators = (name: string) =>
      String((document.components.parameters![`pets.${name}`] as { description: string }).description);
    expect(operators('a')).toContain('ilike');
    expect(operators('b')).toContain('cs, cd, hk');
    for (const name of ['a', 'c']) expect(operators(name)).not.toContain('hk');
    expect(operators('c')).toContain('between');
    expect(operators('c')).not.toContain('ilike');
  });
});

test('a column that is called like a parameter is there once, with its own meaning', () => {
  const document = of(table([column('distinct'), column('having')]));
  for (const [path, methods] of Object.entries(document.paths)) {
    const { get } = methods as { get?: { parameters: { name?: string; $ref?: string }[] } };
    const names = get?.parameters.map(({ name, $ref }) => name ?? $ref?.split('.').at(-1)) ?? [];
    expect([path, new Set(names).size]).toEqual([path, names.length]);
    if (path.endsWith('/_aggregate')) expect(names).toContain('_having');
  }
});
