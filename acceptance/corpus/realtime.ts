import type { FeedCase, StepsCase } from './cases.ts';

const columns = ['id:int', 'title:text:nullable', 'active:bool:false'];
const rows = [
  { id: 1, title: 'one', active: true },
  { id: 2, title: 'two', active: false },
];
const open = { columns, rows, table: { changes: true, access: 'read-write' } };
const activeOnly = { columns, rows, table: { changes: true, access: { read: ['active=is.true'] } } };
const hiddenTitle = {
  columns,
  rows,
  table: {
    changes: true,
    access: { read: ['any'], columns: { title: { read: ['role:manager'] } } },
  },
};

export const realtime: FeedCase[] = [
  {
    name: 'a new row is an insert',
    from: 'PocketBase TestRealtimeRecordResolve create',
    ...open,
    follower: 'ada',
    steps: [{ as: 'ben', send: 'POST', json: { id: 9, title: 'x' }, status: 201 }],
    events: [['insert', { id: 9, title: 'x', active: false }]],
  },
  {
    name: 'a changed row is an update',
    from: 'PocketBase TestRealtimeRecordResolve update',
    ...open,
    follower: 'ada',
    steps: [{ as: 'ben', send: 'PATCH /1', json: { title: 'x' } }],
    events: [['update', { id: 1, title: 'x', active: true }]],
  },
  {
    name: 'a deleted row is a delete with its id',
    from: 'PocketBase TestRealtimeRecordResolve delete',
    differs: 'events of deletes',
    ...open,
    follower: 'ada',
    steps: [{ as: 'ben', send: 'DELETE /1', status: 204 }],
    events: [['delete', { id: 1 }]],
  },
  {
    name: 'a hidden column is in no event',
    from: 'PocketBase TestRealtimeRecordHiddenFields (regular user)',
    ...hiddenTitle,
    follower: 'ada',
    steps: [{ send: 'POST', json: { id: 9, title: 'x' }, status: 201 }],
    events: [['insert', { id: 9, active: false }]],
  },
  {
    name: 'a change of a hidden column alone is no event',
    from: 'PocketBase TestRealtimeRecordHiddenFields (guest)',
    differs: 'events without a change',
    ...hiddenTitle,
    feed: '?select=id,active',
    follower: 'ada',
    steps: [
      { send: 'PATCH /1', json: { title: 'x' } },
      { send: 'PATCH /2', json: { active: true } },
    ],
    events: [['update', { id: 2, active: true }]],
  },
  {
    name: 'who may read a hidden column has it in events',
    from: 'PocketBase TestRealtimeRecordHiddenFields (superuser)',
    ...hiddenTitle,
    follower: 'mona',
    steps: [{ send: 'POST', json: { id: 9, title: 'x' }, status: 201 }],
    events: [['insert', { id: 9, title: 'x', active: false }]],
  },
  {
    name: 'rows that no rule finds are in no event',
    from: 'PocketBase apis/realtime.go: the list rule decides who gets an event',
    ...activeOnly,
    follower: 'ada',
    steps: [
      { send: 'POST', json: { id: 8, title: 'hidden' }, status: 201 },
      { send: 'PATCH /2', json: { title: 'still hidden' } },
      { send: 'DELETE /2', status: 204 },
      { send: 'POST', json: { id: 9, title: 'seen', active: true }, status: 201 },
    ],
    events: [['insert', { id: 9, title: 'seen', active: true }]],
  },
  {
    name: 'a row that a rule ceases to find is a delete, and one that it begins to find an insert',
    from: 'PocketBase apis/realtime.go: the list rule decides who gets an event',
    differs: 'rows that cease to match',
    ...activeOnly,
    follower: 'ada',
    steps: [
      { send: 'PATCH /1', json: { active: false } },
      { send: 'PATCH /2', json: { active: true } },
    ],
    events: [
      ['delete', { id: 1 }],
      ['insert', { id: 2, title: 'two', active: true }],
    ],
  },
  {
    name: 'a filter chooses the rows of the events',
    from: 'PocketBase apis/realtime.go: options of a subscription, filter',
    ...open,
    feed: '?title=eq.x',
    follower: 'ada',
    steps: [
      {
        send: 'POST',
        lines: [
          { id: 8, title: 'y' },
          { id: 9, title: 'x' },
        ],
        status: 201,
      },
    ],
    events: [['insert', { id: 9, title: 'x', active: false }]],
  },
  {
    name: 'a selection chooses the columns of the events',
    from: 'PocketBase apis/realtime.go: options of a subscription, fields',
    ...open,
    feed: '?select=title',
    steps: [{ send: 'PATCH /1', json: { title: 'x' } }],
    events: [['update', { id: 1, title: 'x' }]],
  },
  {
    name: 'one row is followed by a filter on its id',
    from: 'PocketBase TestRealtimeSubscribe topic collection/recordId',
    ...open,
    feed: '?id=eq.1',
    steps: [{ send: 'PATCH ?id=gte.1', json: { title: 'x' } }],
    events: [['update', { id: 1, title: 'x', active: true }]],
  },
  {
    name: 'a change that was rolled back is no event',
    from: 'PocketBase apis/realtime.go: events are sent after the transaction',
    ...open,
    steps: [
      { send: 'POST', lines: [{ id: 8 }, { id: 1 }], status: 409 },
      { send: 'POST', json: { id: 9 }, status: 201 },
    ],
    events: [['insert', { id: 9, title: null, active: false }]],
  },
];

/** Feeds that do not begin. */
export const refusedFeeds: StepsCase[] = [
  {
    name: 'a table without a feed has none',
    from: 'PocketBase TestRealtimeSubscribe "missing client"',
    differs: 'tables without a feed',
    columns,
    table: { access: 'read-write' },
    steps: [{ as: 'ada', send: 'GET /_changes', status: 409, code: 'changes_off' }],
  },
  {
    name: 'the feed of a table that somebody does not see is not found',
    from: 'PocketBase apis/realtime.go: no list rule',
    columns,
    table: { changes: true, access: 'closed' },
    steps: [{ as: 'ada', send: 'GET /_changes', status: 404 }],
  },
  {
    name: 'a feed with a filter on a hidden column is refused',
    from: 'PocketBase TestRealtimeRecordHiddenFields',
    ...hiddenTitle,
    steps: [{ as: 'ada', send: 'GET /_changes?title=eq.one', status: 400 }],
  },
  {
    name: 'a feed has no related rows',
    from: 'PocketBase apis/realtime.go: options of a subscription, expand',
    differs: 'related rows of changes',
    columns: ['id:int', 'parent:ref:$table:nullable'],
    table: { changes: true, access: 'read-write' },
    steps: [{ as: 'ada', send: 'GET /_changes?select=id,parent(id)', status: 400 }],
  },
];
