import { ids, names, type StepsCase } from './cases.ts';

const items = {
  columns: ['id:int', 'a:text:nullable', 'b:text:nullable:none'],
  rows: [
    { id: 1, a: '1', b: '0' },
    { id: 2, a: '2', b: '0' },
    { id: 3, a: null, b: null },
  ],
};

/** Updates and deletes, of one row and by a filter. */
export const changes: StepsCase[] = [
  {
    name: 'one row is updated by its id',
    from: 'PostgREST UpdateSpec "can update a single item"',
    ...items,
    steps: [{ send: 'PATCH /2', json: { a: 'x' }, body: { id: 2, a: 'x', b: '0' } }],
  },
  {
    name: 'the id of a row does not change',
    from: 'PostgREST UpdateSpec "can update a single item"',
    differs: 'ids',
    ...items,
    steps: [{ send: 'PATCH /2', json: { id: 42 }, status: 400 }],
  },
  {
    name: 'many rows are updated by a filter',
    from: 'PostgREST UpdateSpec "can update multiple items"',
    ...items,
    steps: [
      { send: 'PATCH ?b=eq.0', json: { b: '1' }, body: { updated: 2, ids: [1, 2] } },
      { send: 'GET ?b=eq.1&select=id', rows: ids(1, 2) },
    ],
  },
  {
    name: 'updated rows are shown if they are asked for',
    from: 'PostgREST UpdateSpec "returns updated object as array when return=rep"',
    ...items,
    steps: [
      {
        send: 'PATCH ?id=eq.2',
        json: { a: 'x' },
        prefer: 'return=representation',
        body: { updated: 1, data: [{ id: 2, a: 'x' }] },
      },
    ],
  },
  {
    name: 'a filter that finds nothing updates nothing',
    from: 'PostgREST UpdateSpec "returns empty array when no rows updated and return=rep"',
    ...items,
    steps: [
      {
        send: 'PATCH ?id=eq.999999',
        json: { a: 'x' },
        prefer: 'return=representation',
        body: { updated: 0, data: [] },
      },
    ],
  },
  {
    name: 'a column is set to null',
    from: 'PostgREST UpdateSpec "can set a column to NULL"',
    ...items,
    steps: [
      { send: 'PATCH ?id=eq.1', json: { a: null } },
      { send: 'GET ?a=is.null&select=id', rows: ids(1, 3) },
    ],
  },
  {
    name: 'an empty object changes nothing',
    from: 'PostgREST UpdateSpec "makes no updates and returns 204 without return= and without ?select="',
    ...items,
    steps: [{ send: 'PATCH /1', json: {}, body: { id: 1, a: '1', b: '0' } }],
  },
  {
    name: 'groups of conditions choose the rows of an update, also by the column that changes',
    from: 'PostgREST AndOrParamsSpec used with PATCH "succeeds when the filtered column is modified"',
    ...items,
    steps: [
      { send: 'PATCH ?or=(a.is.null,a.like.*test*)', json: { a: 'updated' }, body: { updated: 1, ids: [3] } },
    ],
  },
  {
    name: 'an update without a filter is refused',
    from: 'PostgREST PgSafeUpdateSpec "does not update and throws error if no condition is present"',
    differs: 'changes without a filter',
    ...items,
    steps: [
      { send: 'PATCH', json: { a: 'x' }, status: 400 },
      { send: 'DELETE', status: 400 },
      { send: 'GET /_count', body: { count: 3 } },
    ],
  },
  {
    name: 'one row is deleted by its id',
    from: 'PostgREST DeleteSpec "succeeds with 204 and deletion count"',
    ...items,
    steps: [
      { send: 'DELETE /1', status: 204 },
      { send: 'GET /1', status: 404 },
    ],
  },
  {
    name: 'deleted rows are shown if they are asked for',
    from: 'PostgREST DeleteSpec "returns the deleted item and count if requested"',
    ...items,
    steps: [
      {
        send: 'DELETE ?id=eq.2',
        prefer: 'return=representation',
        body: { deleted: 1, data: [{ id: 2, a: '2', b: '0' }] },
      },
    ],
  },
  {
    name: 'a filter that finds nothing deletes nothing',
    from: 'PostgREST DeleteSpec no records matched "includes [] body if return=rep"',
    ...items,
    steps: [{ send: 'DELETE ?id=eq.101', prefer: 'return=representation', body: { deleted: 0, data: [] } }],
  },
  {
    name: 'groups of conditions choose the rows of a delete',
    from: 'PostgREST AndOrParamsSpec used with DELETE "succeeds when using and/or params"',
    ...items,
    steps: [
      { send: 'DELETE ?or=(id.eq.1,id.eq.2)', body: { deleted: 2 } },
      { send: 'GET ?select=id', rows: ids(3) },
    ],
  },
  {
    name: 'more rows than allowed are not deleted',
    from: 'PostgREST MaxAffectedSpec strict "should fail if items deleted more than 10"',
    differs: 'conflicts',
    ...items,
    steps: [
      { send: 'DELETE ?id=lt.15&max_affected=2', status: 409, code: 'max_affected_exceeded' },
      { send: 'GET /_count', body: { count: 3 } },
      { send: 'DELETE ?id=lt.15&max_affected=3', body: { deleted: 3 } },
    ],
  },
  {
    name: 'changed rows have no related rows',
    from: 'PostgREST UpdateSpec self reference "embeds children after update"',
    differs: 'related rows of changes',
    columns: ['id:int', 'name:text', 'parent:ref:$table:nullable'],
    rows: [{ id: 1, name: 'tardis' }],
    steps: [
      { send: 'PATCH ?id=eq.1&select=id,parent(id)', json: { name: 'x' }, status: 400 },
      { send: 'POST ?select=id', json: { id: 2, name: 'y' }, status: 400 },
      { send: 'GET ?select=name', rows: names('tardis') },
    ],
  },
];
