import { ids, type StepsCase } from './cases.ts';

const rows = [
  { id: 1, title: 'one', active: true },
  { id: 2, title: 'two', active: false },
  { id: 3, title: 'three', active: true },
];
const columns = ['id:int', 'title:text:nullable', 'active:bool:false'];
const open = { columns, rows, table: { access: 'read-write' } };
const activeOnly = {
  columns,
  rows,
  table: { access: { read: ['active=is.true'], write: ['active=is.true'] } },
};
const tree = (onDelete: string) => ({
  columns: ['id:int', `parent:ref:$table:nullable(on_delete=${onDelete})`],
  table: { access: 'read-write' },
  rows: [{ id: 1 }, { id: 2, parent: 1 }, { id: 3 }],
});

/** What rules mean for updates and deletes. */
export const ruleChanges: StepsCase[] = [
  {
    name: 'everybody deletes rows of an open table',
    from: 'PocketBase TestRecordCrudDelete "public collection record delete"',
    ...open,
    steps: [
      { as: 'ada', send: 'DELETE /1', status: 204 },
      { send: 'GET ?select=id', rows: ids(2, 3) },
    ],
  },
  {
    name: 'a deletion by somebody who only sees the row is 403',
    from: 'PocketBase TestRecordCrudDelete "authenticated record that doesn\'t match the collection delete rule"',
    differs: 'refused changes',
    columns,
    rows,
    table: { access: { read: ['any'], delete: ['active=is.false'] } },
    steps: [
      { as: 'ada', send: 'DELETE /1', status: 403 },
      { as: 'ada', send: 'DELETE /2', status: 204 },
    ],
  },
  {
    name: 'a hidden row cannot be deleted or changed',
    from: 'PocketBase TestRecordCrudDelete "authenticated record that doesn\'t match the collection delete rule"',
    ...activeOnly,
    steps: [
      { as: 'ada', send: 'DELETE /2', status: 404 },
      { as: 'ada', send: 'PATCH /2', json: { title: 'x' }, status: 404 },
      { as: 'ada', send: 'DELETE ?id=in.(2)', body: { deleted: 0 } },
      { send: 'GET /2', body: { title: 'two' } },
    ],
  },
  {
    name: 'the rule for deletes stands alone, also for rows that the rule for reads hides',
    from: 'PocketBase TestRecordCrudDelete "authenticated record that match the collection delete rule"',
    columns,
    rows,
    table: { access: { read: ['active=is.true'], delete: ['any'] } },
    steps: [
      { as: 'ada', send: 'GET /2', status: 404 },
      { as: 'ada', send: 'DELETE ?id=eq.2', body: { deleted: 0 } },
      { as: 'ada', send: 'DELETE /2', status: 204 },
    ],
  },
  {
    name: 'a row that others refer to is not deleted',
    from: 'PocketBase TestRecordCrudDelete "trying to delete a record while being part of a non-cascade required relation"',
    differs: 'conflicts',
    ...tree('restrict'),
    steps: [
      { as: 'ada', send: 'DELETE /1', status: 409, code: 'row_in_use' },
      { as: 'ada', send: 'DELETE /3', status: 204 },
    ],
  },
  {
    name: 'a reference to a deleted row becomes null',
    from: 'PocketBase TestRecordCrudDelete "delete a record with non-cascade references"',
    ...tree('set_null'),
    steps: [
      { as: 'ada', send: 'DELETE /1', status: 204 },
      { as: 'ada', send: 'GET /2', body: { id: 2, parent: null } },
    ],
  },
  {
    name: 'rows that refer to a deleted row are deleted',
    from: 'PocketBase TestRecordCrudDelete "delete a record with cascade references"',
    ...tree('cascade'),
    steps: [
      { as: 'ada', send: 'DELETE /1', status: 204 },
      { as: 'ada', send: 'GET ?select=id', rows: ids(3) },
    ],
  },
  {
    name: 'everybody changes rows of an open table',
    from: 'PocketBase TestRecordCrudUpdate "guest submit in public collection"',
    ...open,
    steps: [{ as: 'ada', send: 'PATCH /1', json: { title: 'new' }, body: { id: 1, title: 'new' } }],
  },
  {
    name: 'the id of a row does not change',
    from: 'PocketBase TestRecordCrudUpdate "try to change the id of an existing record"',
    ...open,
    steps: [{ as: 'ada', send: 'PATCH /1', json: { id: 9 }, status: 400 }],
  },
  {
    name: 'an empty change changes nothing',
    from: 'PocketBase TestRecordCrudUpdate "submit empty body (aka. no fields change)"',
    ...open,
    steps: [{ as: 'ada', send: 'PATCH /1', json: {}, body: { id: 1, title: 'one' } }],
  },
  {
    name: 'a value of the wrong type is refused',
    from: 'PocketBase TestRecordCrudUpdate "trigger field validation"',
    ...open,
    steps: [{ as: 'ada', send: 'PATCH /1', json: { active: 'perhaps' }, status: 400 }],
  },
  {
    name: 'a change by somebody who only sees the row is 403',
    from: 'PocketBase TestRecordCrudUpdate "auth record submit in restricted collection (rule failure check)"',
    differs: 'refused changes',
    columns,
    rows,
    table: { access: { read: ['any'], update: ['role:manager'] } },
    steps: [
      { as: 'ada', send: 'PATCH /1', json: { title: 'x' }, status: 403 },
      { as: 'mona', send: 'PATCH /1', json: { title: 'x' }, body: { title: 'x' } },
    ],
  },
  {
    name: 'a row must meet the rule for updates before and after',
    from: 'PocketBase TestRecordCrudUpdate "auth record submit in restricted collection (rule pass check) + expand relations"',
    differs: 'rules of updates',
    columns,
    rows,
    table: { access: { read: ['any'], update: ['active=is.true'] } },
    steps: [
      { as: 'ada', send: 'PATCH /2', json: { active: true }, status: 403 },
      { as: 'ada', send: 'PATCH /1', json: { active: false }, status: 403 },
      { as: 'ada', send: 'PATCH /1', json: { title: 'x' }, body: { title: 'x' } },
    ],
  },
  {
    name: 'an update by filter leaves out hidden rows',
    from: 'PocketBase TestRecordCrudUpdate "auth record submit in restricted collection (rule failure check)"',
    ...activeOnly,
    steps: [
      { as: 'ada', send: 'PATCH ?id=gte.1', json: { title: 'x' }, body: { updated: 2, ids: [1, 3] } },
      { send: 'GET /2', body: { title: 'two' } },
    ],
  },
  {
    name: 'a change without a body is refused',
    from: 'PocketBase TestRecordCrudUpdate "submit nil body (aka. no fields change)"',
    differs: 'no body',
    ...open,
    steps: [{ as: 'ada', send: 'PATCH /1', status: 415 }],
  },
];
