import { ids, type StepsCase } from './cases.ts';

const rows = [
  { id: 1, title: 'one', active: true },
  { id: 2, title: 'two', active: false },
  { id: 3, title: 'three', active: true },
];
const columns = ['id:int', 'title:text:nullable', 'active:bool:false'];
const open = { columns, rows, table: { access: 'read-write' } };
const closed = { columns, rows, table: { access: 'closed' } };
const activeOnly = {
  columns,
  rows,
  table: { access: { read: ['active=is.true'], write: ['active=is.true'] } },
};
const hiddenTitle = {
  columns,
  rows,
  table: {
    access: {
      read: ['any'],
      write: ['any'],
      columns: { title: { read: ['role:manager'], write: ['role:manager'] } },
    },
  },
};
const own = {
  columns: ['id:int', 'person:uuid', 'note:text:nullable'],
  table: { owner_column: 'person', access: 'own' },
};

export const rules: StepsCase[] = [
  {
    name: 'a table without rules for people is not there for them',
    from: 'PocketBase TestRecordCrudList "authenticated record trying to access nil rule collection (aka. need superuser auth)"',
    differs: 'closed tables',
    ...closed,
    steps: [
      { as: 'ada', send: 'GET', status: 404 },
      { as: 'ada', send: 'GET /1', status: 404 },
      { as: 'ada', send: 'POST', json: { title: 'x' }, status: 404 },
      { as: 'ada', send: 'DELETE /1', status: 404 },
    ],
  },
  {
    name: 'owners see a table without rules',
    from: 'PocketBase TestRecordCrudList "authorized as superuser trying to access nil rule collection (aka. need superuser auth)"',
    ...closed,
    steps: [{ send: 'GET ?select=id', rows: ids(1, 2, 3) }],
  },
  {
    name: 'everybody lists an open table',
    from: 'PocketBase TestRecordCrudList "public collection"',
    ...open,
    steps: [{ as: 'ada', send: 'GET ?select=id', rows: ids(1, 2, 3) }],
  },
  {
    name: 'who matches no row of a rule has an empty list',
    from: 'PocketBase TestRecordCrudList "authenticated record model that DOESN\'T match the collection list rule"',
    ...own,
    steps: [
      { as: 'ada', send: 'POST', json: { id: 1 }, status: 201 },
      { as: 'ben', send: 'GET', rows: [] },
      { as: 'ben', send: 'GET /_count', body: { count: 0 } },
    ],
  },
  {
    name: 'who matches a rule lists the rows that it finds',
    from: 'PocketBase TestRecordCrudList "authenticated record that matches the collection list rule"',
    ...activeOnly,
    steps: [{ as: 'ada', send: 'GET ?select=id', rows: ids(1, 3) }],
  },
  {
    name: 'a hidden column is not shown',
    from: 'PocketBase TestRecordCrudList "authenticated regular record that matches the collection list rule with hidden field"',
    ...hiddenTitle,
    steps: [{ as: 'ada', send: 'GET ?id=eq.1&select=*', body: { data: [{ id: 1, active: true }] } }],
  },
  {
    name: 'a hidden column cannot be selected',
    from: 'PocketBase TestRecordCrudList "authenticated regular record that matches the collection list rule with hidden field"',
    differs: 'unknown names',
    ...hiddenTitle,
    steps: [{ as: 'ada', send: 'GET ?select=id,title', status: 400, code: 'unknown_column' }],
  },
  {
    name: 'a hidden column cannot be filtered by',
    from: 'PocketBase TestRecordCrudList "authenticated regular record filtering with a hidden field"',
    ...hiddenTitle,
    steps: [
      { as: 'ada', send: 'GET ?title=eq.one', status: 400 },
      { as: 'ada', send: 'GET ?or=(id.eq.2,title.eq.one)', status: 400 },
      { as: 'ada', send: 'GET ?sort=title', status: 400 },
    ],
  },
  {
    name: 'who may read a hidden column filters by it',
    from: 'PocketBase TestRecordCrudList "superuser filtering with a hidden field"',
    ...hiddenTitle,
    steps: [
      { as: 'mona', send: 'GET ?title=eq.one&select=id', rows: ids(1) },
      { send: 'GET ?title=eq.one&select=id', rows: ids(1) },
    ],
  },
  {
    name: 'a row that no rule finds is not found',
    from: 'PocketBase TestRecordCrudView "authenticated record that doesn\'t match the collection view rule"',
    ...activeOnly,
    steps: [{ as: 'ada', send: 'GET /2', status: 404 }],
  },
  {
    name: 'a row that a rule finds is shown',
    from: 'PocketBase TestRecordCrudView "authenticated record that does match the collection view rule"',
    ...activeOnly,
    steps: [{ as: 'ada', send: 'GET /3', body: { id: 3, title: 'three' } }],
  },
  {
    name: 'a row that is not there is not found',
    from: 'PocketBase TestRecordCrudView "missing record"',
    ...open,
    steps: [
      { as: 'ada', send: 'GET /99', status: 404 },
      { as: 'ada', send: 'PATCH /99', json: { title: 'x' }, status: 404 },
      { as: 'ada', send: 'DELETE /99', status: 404 },
    ],
  },
  {
    name: 'a filter does not find hidden rows',
    from: 'PocketBase TestRecordCrudList "multi-match - at least one of (guest - non-satisfied relation filter API rule)"',
    ...activeOnly,
    steps: [
      { as: 'ada', send: 'GET ?title=eq.two', rows: [] },
      { as: 'ada', send: 'GET /_count?active=is.false', body: { count: 0 } },
    ],
  },
  {
    name: 'groups leave out hidden rows',
    from: 'PocketBase TestRecordCrudList "authenticated record that matches the collection list rule"',
    ...activeOnly,
    steps: [{ as: 'ada', send: 'GET /_aggregate?select=active,count()', rows: [{ active: true, count: 2 }] }],
  },
  {
    name: 'a parent that no rule finds is null',
    from: 'PocketBase TestRecordCrudCreate "auth record submit in restricted collection (rule pass check) + expand relations"',
    columns: ['id:int', 'open:bool', 'parent:ref:$table:nullable'],
    table: { access: { read: ['open=is.true'] } },
    rows: [
      { id: 1, open: false },
      { id: 2, open: true, parent: 1 },
      { id: 3, open: true, parent: 2 },
    ],
    steps: [
      {
        as: 'ada',
        send: 'GET ?select=id,up:parent(id)',
        rows: [
          { id: 2, up: null },
          { id: 3, up: { id: 2 } },
        ],
      },
      { as: 'ada', send: 'GET ?select=id,up:parent!inner(id)', rows: [{ id: 3, up: { id: 2 } }] },
      { as: 'ada', send: 'GET ?select=id&parent.open=is.false', rows: [] },
    ],
  },
  {
    name: 'children that no rule finds are absent',
    from: 'PocketBase TestExpandRecords "fetchFunc with error"',
    columns: ['id:int', 'open:bool', 'parent:ref:$table:nullable'],
    table: { access: { read: ['open=is.true'] } },
    rows: [
      { id: 1, open: true },
      { id: 2, open: true, parent: 1 },
      { id: 3, open: false, parent: 1 },
    ],
    steps: [{ as: 'ada', send: 'GET /1?select=id,kids:$table(id)', body: { id: 1, kids: ids(2) } }],
  },
  {
    name: 'a table that is only read refuses new rows',
    from: 'PocketBase TestRecordCrudCreate "auth record trying to access nil-rule collection"',
    columns,
    table: { access: 'read-only' },
    steps: [{ as: 'ada', send: 'POST', json: { title: 'x' }, status: 403 }],
  },
  {
    name: 'a row that the rule for inserts does not allow is refused',
    from: 'PocketBase TestRecordCrudCreate "auth record submit in restricted collection (rule failure check)"',
    differs: 'refused changes',
    ...activeOnly,
    steps: [
      { as: 'ada', send: 'POST', json: { title: 'x', active: false }, status: 403 },
      { send: 'GET /_count', body: { count: 3 } },
    ],
  },
  {
    name: 'a row that the rule for inserts allows is inserted',
    from: 'PocketBase TestRecordCrudCreate "auth record submit in restricted collection (rule pass check) + expand relations"',
    ...activeOnly,
    steps: [
      { as: 'ada', send: 'POST', json: { id: 9, title: 'x', active: true }, status: 201, body: { id: 9 } },
    ],
  },
  {
    name: 'one line that the rule does not allow refuses all lines',
    from: 'PocketBase TestRecordCrudCreate "auth record submit in restricted collection (rule failure check)"',
    ...activeOnly,
    steps: [
      { as: 'ada', send: 'POST', lines: [{ id: 8, active: true }, { id: 9 }], status: 403 },
      { send: 'GET /_count', body: { count: 3 } },
    ],
  },
  {
    name: 'a rule looks at the values of a new row',
    from: 'PocketBase TestRecordCrudCreate "@request.body.field with compute modifers (rule pass check)"',
    columns: ['id:int', 'total:int'],
    table: { access: { read: ['any'], insert: ['total=gt.4'], update: ['total=gte.@old.total'] } },
    steps: [
      { as: 'ada', send: 'POST', json: { id: 1, total: 4 }, status: 403 },
      { as: 'ada', send: 'POST', json: { id: 1, total: 5 }, status: 201 },
      { as: 'ada', send: 'PATCH /1', json: { total: 4 }, status: 403 },
      { as: 'ada', send: 'PATCH /1', json: { total: 6 }, body: { total: 6 } },
    ],
  },
  {
    name: 'a hidden column cannot be written',
    from: 'PocketBase TestRecordCrudCreate "create with hidden field as regular user"',
    differs: 'hidden columns',
    ...hiddenTitle,
    steps: [
      { as: 'ada', send: 'POST', json: { id: 9, title: 'x' }, status: 400, code: 'unknown_column' },
      { as: 'ada', send: 'PATCH /1', json: { title: 'x' }, status: 400, code: 'unknown_column' },
      { send: 'GET /1', body: { title: 'one' } },
    ],
  },
  {
    name: 'who may write a hidden column writes it',
    from: 'PocketBase TestRecordCrudCreate "create with hidden field as superuser"',
    ...hiddenTitle,
    steps: [
      { as: 'mona', send: 'POST', json: { id: 9, title: 'x' }, status: 201, body: { title: 'x' } },
      { send: 'PATCH /1', json: { title: 'y' }, body: { title: 'y' } },
    ],
  },
  {
    name: 'a row without a value that is required is refused',
    from: 'PocketBase TestRecordCrudCreate "submit empty json body"',
    columns: ['id:int', 'title:text'],
    table: { access: 'read-write' },
    steps: [{ as: 'ada', send: 'POST', json: {}, status: 400, code: 'required' }],
  },
  {
    name: 'rows belong to the person who inserted them',
    from: 'PostgREST InsertSpec Row level permission "set user_id when inserting rows"',
    ...own,
    steps: [
      { as: 'ada', send: 'POST', json: { id: 1, note: 'mine' }, status: 201, body: { person: '$ada' } },
      { as: 'ben', send: 'PATCH /1', json: { note: 'x' }, status: 404 },
      { as: 'ada', send: 'GET ?person=eq.$ada&select=id', rows: ids(1) },
    ],
  },
  {
    name: 'a row can be given to another person by nobody who inserts their own',
    from: 'PocketBase TestRecordCrudCreate "auth record submit in restricted collection (rule failure check)"',
    ...own,
    steps: [{ as: 'ada', send: 'POST', json: { id: 1, person: '$ben' }, status: 400 }],
  },
  {
    name: 'a rule compares a column with the caller',
    from: 'PocketBase TestRecordCrudList "authenticated record that matches the collection list rule"',
    columns: ['id:int', 'assignee:uuid:nullable'],
    table: { access: { read: ['assignee=eq.@me.id'] } },
    rows: [{ id: 1, assignee: '$ada' }, { id: 2, assignee: '$ben' }, { id: 3 }],
    steps: [
      { as: 'ada', send: 'GET ?select=id', rows: ids(1) },
      { as: 'ben', send: 'GET ?select=id', rows: ids(2) },
      { as: 'mona', send: 'GET ?select=id', rows: [] },
    ],
  },
  {
    name: 'an upsert does not change a hidden row',
    from: 'PostgREST UpsertSpec merge-duplicates "UPDATEs rows on pk conflict"',
    ...activeOnly,
    steps: [
      {
        as: 'ada',
        send: 'POST',
        lines: [{ id: 2, title: 'x', active: true }],
        prefer: 'resolution=merge-duplicates',
        status: 409,
      },
      { send: 'GET /2', body: { title: 'two', active: false } },
    ],
  },
];
