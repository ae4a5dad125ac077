import { ids, type StepsCase } from './cases.ts';

const languages = {
  columns: ['id:text', 'rank:int', 'note:text:nullable'],
  rows: [
    { id: 'Java', rank: 1, note: 'a' },
    { id: 'C', rank: 2 },
    { id: 'Python', rank: 4 },
  ],
};
const items = {
  columns: ['id:int', 'a:text:nullable', 'b:text:nullable:none'],
  rows: [
    { id: 1, a: '1', b: '0' },
    { id: 2, a: '2', b: '0' },
    { id: 3, a: null, b: null },
  ],
};
const keyed = {
  columns: ['id:int', 'key1:int', 'key2:int', 'value:text'],
  indexes: [{ columns: ['key1', 'key2'], unique: true }],
  rows: [{ id: 1, key1: 1, key2: 1, value: 'A' }],
};
const merge = 'resolution=merge-duplicates';
const ignore = 'resolution=ignore-duplicates';

export const writes: StepsCase[] = [
  {
    name: 'a row is inserted and shown',
    from: 'PostgREST InsertSpec "returns full details of inserted record if asked"',
    ...items,
    steps: [{ send: 'POST', json: { id: 9, a: 'bar', b: 'baz' }, status: 201, body: { a: 'bar', b: 'baz' } }],
  },
  {
    name: 'an inserted row is not shown if it is not asked for',
    from: 'PostgREST InsertSpec "ignores &select when return not set or using return=minimal"',
    ...items,
    steps: [{ send: 'POST', json: { id: 9 }, prefer: 'return=minimal', status: 201 }],
  },
  {
    name: 'null is inserted, not the default',
    from: 'PostgREST InsertSpec "can post nulls"',
    ...items,
    steps: [{ send: 'POST', json: { id: 9, a: null, b: null }, status: 201, body: { a: null, b: null } }],
  },
  {
    name: 'an empty object is a row of defaults',
    from: 'PostgREST InsertSpec empty objects "successfully inserts a row with all-default columns"',
    ...items,
    rows: [],
    steps: [{ send: 'POST', json: {}, status: 201, body: { a: null, b: 'none' } }],
  },
  {
    name: 'two empty objects are two rows of defaults',
    from: 'PostgREST InsertSpec empty objects "successfully inserts two rows with all-default columns"',
    columns: ['id:int', 'b:text:none'],
    steps: [
      { send: 'POST', lines: [{}, {}], status: 201, body: { ids: [1, 2] } },
      { send: 'GET ?select=b', rows: [{ b: 'none' }, { b: 'none' }] },
    ],
  },
  {
    name: 'a missing key has the default of its column',
    from: 'PostgREST InsertSpec "inserts table default values(field-with_sep) when json keys are undefined"',
    differs: 'missing keys',
    ...items,
    rows: [],
    steps: [
      {
        send: 'POST',
        lines: [
          { id: 1, a: 'x' },
          { id: 2, b: 'y' },
        ],
        status: 201,
      },
      {
        send: 'GET ?select=a,b',
        rows: [
          { a: 'x', b: 'none' },
          { a: null, b: 'y' },
        ],
      },
    ],
  },
  {
    name: 'an array of rows is refused; rows are lines',
    from: 'PostgREST InsertSpec with bulk insert "returns 201 but no location header"',
    differs: 'many rows',
    ...items,
    steps: [{ send: 'POST', json: [{ id: 10 }, { id: 11 }], status: 400 }],
  },
  {
    name: 'an unknown key is refused',
    from: 'PostgREST InsertSpec ?columns "ignores json keys not included in ?columns"',
    differs: 'choice of columns',
    ...items,
    steps: [
      { send: 'POST', json: { id: 9, c: 'x' }, status: 400, code: 'unknown_column' },
      { send: 'POST ?columns=id', json: { id: 9 }, status: 400 },
    ],
  },
  {
    name: 'a text that is not JSON is refused',
    from: 'PostgREST InsertSpec with invalid json payload "fails with 400 and error"',
    ...items,
    steps: [{ send: 'POST', json: '}{ x = 2', status: 400 }],
  },
  {
    name: 'a row without the id of a text table is refused',
    from: 'PostgREST InsertSpec into a table with simple pk "fails with 400 and error"',
    ...languages,
    steps: [{ send: 'POST', json: { rank: 9 }, status: 400 }],
  },
  {
    name: 'an id that is there is a conflict',
    from: 'PostgREST InsertSpec same primary key "fails returning a 409 Conflict"',
    ...languages,
    steps: [
      { send: 'POST', json: { id: 'Java', rank: 9 }, status: 409 },
      { send: 'GET /Java', body: { rank: 1 } },
    ],
  },
  {
    name: 'a value that is there of a unique column is a conflict',
    from: 'PocketBase TestRecordCrudCreate "unique field error check"',
    differs: 'conflicts',
    ...keyed,
    steps: [{ send: 'POST', json: { key1: 1, key2: 1, value: 'B' }, status: 409 }],
  },
  {
    name: 'objects and lists in JSON are stored as they are',
    from: 'PostgREST InsertSpec jsonb "serializes nested object"',
    columns: ['id:int', 'data:jsonb'],
    steps: [
      { send: 'POST', json: { id: 1, data: { foo: { bar: 'baz' } } }, status: 201 },
      { send: 'POST', json: { id: 2, data: [1, 2, 3] }, status: 201 },
      {
        send: 'GET ?select=data',
        rows: [{ data: { foo: { bar: 'baz' } } }, { data: [1, 2, 3] }],
      },
    ],
  },
  {
    name: 'of two equal keys the last one counts',
    from: 'PostgREST InsertSpec "doesn\'t insert json duplicate keys(since it uses jsonb)"',
    ...items,
    steps: [{ send: 'POST', json: '{"id": 9, "a": "x", "a": "y"}', status: 201, body: { a: 'y' } }],
  },
  {
    name: 'other scripts are stored as they are',
    from: 'PostgREST InsertSpec with unicode values "succeeds and returns full representation"',
    ...items,
    steps: [{ send: 'POST', json: { a: '圍棋', b: '￥' }, status: 201, body: { a: '圍棋', b: '￥' } }],
  },
  {
    name: 'one bad line stores no line',
    from: 'PostgREST InsertSpec "rejects json array that isn\'t exclusivily composed of objects"',
    ...items,
    steps: [
      { send: 'POST', lines: [{ id: 10 }, { id: 'x' }], status: 400 },
      { send: 'GET ?id=eq.10', rows: [] },
    ],
  },
  {
    name: 'an upsert by id inserts and updates',
    from: 'PostgREST UpsertSpec merge-duplicates "INSERTs and UPDATEs rows on pk conflict"',
    ...languages,
    steps: [
      {
        send: 'POST',
        lines: [
          { id: 'Javascript', rank: 6 },
          { id: 'Java', rank: 2 },
          { id: 'C', rank: 1 },
        ],
        prefer: merge,
        status: 201,
        body: { inserted: 1, updated: 2 },
      },
      {
        send: 'GET ?sort=rank,id&select=id',
        rows: ids('C', 'Java', 'Python', 'Javascript'),
      },
      { send: 'GET /Java', body: { rank: 2, note: 'a' } },
    ],
  },
  {
    name: 'an upsert that only updates says so',
    from: 'PostgREST UpsertSpec merge-duplicates "UPDATEs rows on pk conflict"',
    differs: 'status of an upsert',
    ...languages,
    steps: [
      { send: 'POST', json: { id: 'Python', rank: 5 }, prefer: merge, status: 200, body: { rank: 5 } },
      {
        send: 'POST',
        lines: [{ id: 'Python', rank: 6 }],
        prefer: merge,
        status: 201,
        body: { inserted: 0, updated: 1 },
      },
    ],
  },
  {
    name: 'an upsert by two columns inserts and updates',
    from: 'PostgREST UpsertSpec merge-duplicates "INSERTs and UPDATEs rows on compound unique keys conflict"',
    ...keyed,
    steps: [
      {
        send: 'POST ?on_conflict=key1,key2',
        lines: [
          { key1: 1, key2: 1, value: 'B' },
          { key1: 1, key2: 2, value: 'C' },
        ],
        prefer: merge,
        status: 201,
        body: { inserted: 1, updated: 1 },
      },
      {
        send: 'GET ?select=value&sort=value',
        rows: [{ value: 'B' }, { value: 'C' }],
      },
    ],
  },
  {
    name: 'an upsert by columns that are not unique is refused',
    from: 'PostgREST UpsertSpec merge-duplicates "INSERTs and UPDATEs rows on single unique key conflict"',
    ...keyed,
    steps: [
      {
        send: 'POST ?on_conflict=key1',
        lines: [{ key1: 1, key2: 1, value: 'B' }],
        prefer: merge,
        status: 400,
      },
    ],
  },
  {
    name: 'an upsert that ignores leaves rows as they are',
    from: 'PostgREST UpsertSpec ignore-duplicates "INSERTs and ignores rows on pk conflict"',
    ...languages,
    steps: [
      {
        send: 'POST',
        lines: [
          { id: 'PHP', rank: 9 },
          { id: 'Python', rank: 10 },
        ],
        prefer: ignore,
        status: 201,
        body: { inserted: 1, updated: 0 },
      },
      { send: 'GET /Python', body: { rank: 4 } },
    ],
  },
  {
    name: 'an upsert that ignores every row succeeds',
    from: 'PostgREST UpsertSpec ignore-duplicates "succeeds if not a single resource is created"',
    differs: 'status of an upsert',
    ...languages,
    steps: [
      {
        send: 'POST',
        lines: [{ id: 'Java', rank: 9 }],
        prefer: ignore,
        status: 201,
        body: { inserted: 0, ids: [] },
      },
    ],
  },
  {
    name: 'a table of ids alone can be upserted',
    from: 'PostgREST UpsertSpec merge-duplicates "succeeds if the table has only PK cols and no other cols"',
    columns: ['id:int'],
    rows: [{ id: 1 }],
    steps: [
      {
        send: 'POST',
        lines: ids(1, 2, 3),
        prefer: merge,
        status: 201,
        body: { inserted: 2, ids: [1, 2, 3] },
      },
    ],
  },
  {
    name: 'a row cannot be put',
    from: 'PostgREST UpsertSpec with PUT "succeeds on table with single pk col"',
    differs: 'put',
    ...languages,
    steps: [{ send: 'PUT /Go', json: { rank: 19 }, status: 405 }],
  },
];
