import { describe, expect, test } from 'bun:test';
import {
  attributesMax,
  defaultIndexName,
  duplicatePositions,
  idColumnProblem,
  type NewColumn,
  needsRebuild,
  ownerColumnProblem,
  planIndex,
  withServiceColumns,
} from './rules.ts';
import { columnDefault, parseDefaultText } from './values.ts';

const column = (name: string, rest: Partial<NewColumn> = {}): NewColumn => ({
  name,
  type: 'text',
  nullable: false,
  default_text: null,
  role: name === 'id' ? 'id' : 'plain',
  ...rest,
});

describe('service columns', () => {
  const shape = (declared: NewColumn[]) =>
    withServiceColumns(declared).map(({ name, role }) => (name === role ? `${name}!` : name));

  test('the id comes first and the timestamps last, unless declared', () => {
    expect(shape([])).toEqual(['id!', 'created_at!', 'updated_at!']);
    expect(shape([column('a'), column('b')])).toEqual(['id!', 'a', 'b', 'created_at!', 'updated_at!']);
    expect(shape([column('a'), column('id')])).toEqual(['a', 'id!', 'created_at!', 'updated_at!']);
    expect(shape([column('created_at'), column('a')])).toEqual(['id!', 'created_at', 'a', 'updated_at!']);
    expect(shape([column('updated_at')])).toEqual(['id!', 'updated_at', 'created_at!']);
  });

  test('an id has one of four types, is not nullable and has no default but gen_random_uuid()', () => {
    const refused = (type: NewColumn['type'], rest: { nullable?: boolean; default?: string } = {}) =>
      idColumnProblem({ name: 'id', type, nullable: false, default: null, ...rest })?.field ?? null;
    for (const type of ['uuid', 'bigint', 'int', 'text'] as const) expect(refused(type)).toBeNull();
    expect(refused('jsonb')).toBe('type');
    expect(refused('timestamptz')).toBe('type');
    expect(refused('uuid', { nullable: true })).toBe('nullable');
    expect(refused('uuid', { default: 'gen_random_uuid()' })).toBeNull();
    expect(refused('text', { default: 'gen_random_uuid()' })).toBe('default');
    expect(refused('int', { default: '1' })).toBe('default');
  });

  test('an owner column is text or uuid, and not the id', () => {
    expect(ownerColumnProblem({ type: 'text', role: 'plain' })).toBeNull();
    expect(ownerColumnProblem({ type: 'uuid', role: 'plain' })).toBeNull();
    expect(ownerColumnProblem({ type: 'uuid', role: 'id' })).toBeString();
    expect(ownerColumnProblem({ type: 'int', role: 'plain' })).toBeString();
    expect(ownerColumnProblem(undefined)).toBeString();
  });

  test('duplicate names are reported at their later positions', () => {
    expect(duplicatePositions(['a', 'b', 'a', 'a'])).toEqual([2, 3]);
    expect(duplicatePositions(['constructor', 'valueOf'])).toEqual([]);
  });

  test('a table is rebuilt before PostgreSQL’s column limit', () => {
    expect([needsRebuild(attributesMax - 1, 1), needsRebuild(attributesMax, 1)]).toEqual([false, true]);
  });
});

describe('defaults', () => {
  test.each<[NewColumn['type'], string, string | null]>([
    ['int', '5', '5'],
    ['int', '5.0', null],
    ['int', '2147483648', null],
    ['bigint', '9223372036854775807', '9223372036854775807'],
    ['float', '1e3', '1000'],
    ['float', 'NaN', null],
    ['bool', 'true', 'true'],
    ['bool', 'yes', null],
    ['timestamptz', 'now()', 'now()'],
    ['timestamptz', 'now', null],
    ['timestamptz', '2026-02-30T00:00:00Z', null],
    ['uuid', 'gen_random_uuid()', 'gen_random_uuid()'],
    ['uuid', 'now()', null],
    ['uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    ['timestamptz', 'gen_random_uuid()', null],
    ['jsonb', '{"a":1}', '{"a":1}'],
    ['jsonb', '{a}', null],
    ['jsonb', ' null ', null],
    ['int', 'now()', null],
    ['int', '1); drop table x; --', null],
    ['text', 'now()', 'now()'],
    ['text', 'gen_random_uuid()', 'gen_random_uuid()'],
    ['text', 'nullable', 'nullable'],
    ['text', '', ''],
    ['text', `it's`, `it's`],
    ['text', 'ä'.repeat(4097), null],
  ])('of type %s, %p', (type, text, kept) => {
    const checked = parseDefaultText(type, text);
    expect(checked.ok ? checked.value : null).toBe(kept);
  });

  test('are literals except the function of the type', () => {
    const kind = (type: NewColumn['type'], default_text: string | null, role: NewColumn['role'] = 'plain') =>
      columnDefault({ type, default_text, role })?.kind ?? null;
    expect(kind('text', 'now()')).toBe('literal');
    expect(kind('timestamptz', 'now()')).toBe('now');
    expect(kind('uuid', 'gen_random_uuid()')).toBe('random_uuid');
    expect(kind('text', null)).toBeNull();
    expect(kind('uuid', null, 'id')).toBe('uuid_v7');
    expect(kind('uuid', 'gen_random_uuid()', 'id')).toBe('random_uuid');
    expect(kind('bigint', null, 'id')).toBe('sequence');
    expect(kind('text', null, 'id')).toBeNull();
    expect(kind('timestamptz', null, 'created_at')).toBeNull();
  });
});

describe('indexes', () => {
  const id = { number: 1 };
  const of = (...types: NewColumn['type'][]) => types.map((type, at) => ({ number: at + 2, type }));

  test('have the id as last key unless they are unique or contain it', () => {
    expect(planIndex(of('text', 'int'), 'plain', id)).toMatchObject({ keys: [2, 3, 1], isUnique: false });
    expect(planIndex(of('text', 'int'), 'unique', id)).toMatchObject({ keys: [2, 3], isUnique: true });
    expect(planIndex([{ number: 1, type: 'uuid' }], 'plain', id)).toMatchObject({ keys: [1] });
  });

  test('over jsonb use gin, have one column and are not unique', () => {
    expect(planIndex(of('jsonb'), 'plain', id)).toEqual({ keys: [2], method: 'gin', isUnique: false });
    expect(planIndex(of('jsonb'), 'unique', id)).toBeString();
    expect(planIndex(of('text', 'jsonb'), 'plain', id)).toBeString();
  });

  test('are named after their columns, uniquely and within 63 bytes', () => {
    expect(defaultIndexName(['a', 'b'], 'plain', [])).toBe('a_b_idx');
    expect(defaultIndexName(['a'], 'unique', ['a_key', 'a_key2'])).toBe('a_key3');
    const long = defaultIndexName(['x'.repeat(63), 'y'], 'plain', []);
    expect([long.length, long.endsWith('_idx')]).toEqual([63, true]);
    expect(defaultIndexName(['x'.repeat(63), 'y'], 'plain', [long])).not.toBe(long);
  });
});
