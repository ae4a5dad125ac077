import { ids, type ReadCase } from './cases.ts';

const client = (id: number) => ({ client: { id } });

/** Related rows that decide which rows are listed. */
export const innerJoins: ReadCase[] = [
  {
    name: 'inner leaves out rows without a parent',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "ignores null embeddings while the default left join doesn\'t"',
    get: 'projects?select=id,client!inner(id)',
    rows: [
      { id: 1, ...client(1) },
      { id: 2, ...client(1) },
      { id: 3, ...client(2) },
      { id: 4, ...client(2) },
    ],
  },
  {
    name: 'left is what is meant without inner',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "ignores null embeddings while the default left join doesn\'t"',
    get: 'projects?select=id,client!left(id)&id=gte.4',
    rows: [
      { id: 4, ...client(2) },
      { id: 5, client: null },
    ],
  },
  {
    name: 'inner counts the rows with a parent',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "ignores null embeddings while the default left join doesn\'t"',
    get: 'projects/_count?select=id,client!inner(id)',
    body: { count: 4 },
  },
  {
    name: 'inner with a filter on the parent lists the rows of this parent',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "filters source tables when the embedded table is filtered"',
    get: 'projects?select=id,client!inner(id)&client.id=eq.2',
    rows: [
      { id: 3, ...client(2) },
      { id: 4, ...client(2) },
    ],
  },
  {
    name: 'inner with a filter that no parent meets lists nothing',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "filters source tables when the embedded table is filtered"',
    get: 'projects?select=id,client!inner(id)&client.id=eq.0',
    rows: [],
  },
  {
    name: 'inner with a filter two levels up lists the rows below',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "filters source tables when a two levels below embedded table is filtered"',
    get: 'tasks?select=id,project!inner(id,client!inner(id))&project.client.id=eq.1',
    rows: [
      { id: 1, project: { id: 1, ...client(1) } },
      { id: 2, project: { id: 1, ...client(1) } },
      { id: 3, project: { id: 2, ...client(1) } },
      { id: 4, project: { id: 2, ...client(1) } },
    ],
  },
  {
    name: 'a count through two levels is the number of rows below',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "filters source tables when a two levels below embedded table is filtered"',
    get: 'tasks/_count?select=id,project!inner(id,client!inner(id))&project.client.id=eq.1',
    body: { count: 4 },
  },
  {
    name: 'a filter through single rows chooses the rows of the list',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "only affects the source table rows if his direct embedding is an inner join"',
    differs: 'filters through a single row',
    get: 'tasks?select=id,project(id)&project.client.id=eq.2',
    rows: [
      { id: 5, project: { id: 3 } },
      { id: 6, project: { id: 3 } },
      { id: 7, project: { id: 4 } },
      { id: 8, project: { id: 4 } },
    ],
  },
  {
    name: 'inner at the second level without inner at the first hides the parent alone',
    from: 'PostgREST EmbedInnerJoinSpec many-to-one "only affects the source table rows if his direct embedding is an inner join"',
    get: 'clients?select=id,projects(id,tasks!inner(id))&projects.tasks.id=eq.3',
    rows: [
      { id: 1, projects: [{ id: 2, tasks: ids(3) }] },
      { id: 2, projects: [] },
    ],
  },
  {
    name: 'inner leaves out rows without children',
    from: 'PostgREST EmbedInnerJoinSpec one-to-many "ignores empty array embeddings while the default left join doesn\'t"',
    get: 'entities?select=id,child_entities!inner(id)',
    rows: [
      { id: 1, child_entities: ids(1, 2, 4, 5) },
      { id: 2, child_entities: ids(3, 6) },
    ],
  },
  {
    name: 'left lists rows without children',
    from: 'PostgREST EmbedInnerJoinSpec one-to-many "ignores empty array embeddings while the default left join doesn\'t"',
    get: 'entities?select=id,child_entities!left(id)&id=gte.2',
    rows: [
      { id: 2, child_entities: ids(3, 6) },
      { id: 3, child_entities: [] },
      { id: 4, child_entities: [] },
    ],
  },
  {
    name: 'inner with a filter lists the rows with such children',
    from: 'PostgREST EmbedInnerJoinSpec one-to-many "filters source tables when the embedded table is filtered"',
    get: 'entities?select=id,child_entities!inner(id)&child_entities.id=eq.3',
    rows: [{ id: 2, child_entities: ids(3) }],
  },
  {
    name: 'inner with a filter that no child meets lists nothing',
    from: 'PostgREST EmbedInnerJoinSpec one-to-many "filters source tables when the embedded table is filtered"',
    get: 'entities?select=id,child_entities!inner(id)&child_entities.id=eq.0',
    rows: [],
  },
  {
    name: 'inner with a filter on grandchildren lists the rows with such grandchildren',
    from: 'PostgREST EmbedInnerJoinSpec one-to-many "filters source tables when a two levels below embedded table is filtered"',
    get: 'entities?select=id,child_entities!inner(id,grandchild_entities!inner(id))&child_entities.grandchild_entities.id=in.(1,5)',
    rows: [
      {
        id: 1,
        child_entities: [
          { id: 1, grandchild_entities: ids(1) },
          { id: 2, grandchild_entities: ids(5) },
        ],
      },
    ],
  },
  {
    name: 'a count through grandchildren counts each row once',
    from: 'PostgREST EmbedInnerJoinSpec one-to-many "filters source tables when a two levels below embedded table is filtered"',
    get: 'entities/_count?select=id,child_entities!inner(id,grandchild_entities!inner(id))&child_entities.grandchild_entities.id=in.(1,5)',
    body: { count: 1 },
  },
  {
    name: 'a filter on grandchildren without inner leaves the children',
    from: 'PostgREST EmbedInnerJoinSpec one-to-many "only affects the source table rows if his direct embedding is an inner join"',
    get: 'entities?select=id,child_entities!inner(id,grandchild_entities(id))&child_entities.grandchild_entities.id=eq.2&id=eq.1',
    rows: [
      {
        id: 1,
        child_entities: [
          { id: 1, grandchild_entities: ids(2) },
          { id: 2, grandchild_entities: [] },
          { id: 4, grandchild_entities: [] },
          { id: 5, grandchild_entities: [] },
        ],
      },
    ],
  },
  {
    name: 'inner through a table between two others lists the rows at its ends',
    from: 'PostgREST EmbedInnerJoinSpec many-to-many "filters source tables when the embedded table is filtered"',
    get: 'users?select=name,users_tasks!inner(task!inner(name))&users_tasks.task.name=eq.Design w7',
    rows: [
      { name: 'Angela Martin', users_tasks: [{ task: { name: 'Design w7' } }] },
      { name: 'Dwight Schrute', users_tasks: [{ task: { name: 'Design w7' } }] },
    ],
  },
  {
    name: 'inner works with the name of a column',
    from: 'PostgREST EmbedInnerJoinSpec "works when using hints"',
    get: 'addresses?select=id,orders!shipping_address_id!inner(id)',
    rows: [
      { id: 2, orders: ids(1) },
      { id: 4, orders: ids(2) },
    ],
  },
  {
    name: 'two inner relations must both be there',
    from: 'PostgREST EmbedInnerJoinSpec "works with many one-to-many relationships"',
    get: 'projects?select=id,tasks!inner(id),project_invoices!inner(id)&tasks.id=in.(1,5)&project_invoices.id=in.(2,3)',
    rows: [{ id: 1, tasks: ids(1), project_invoices: ids(2) }],
  },
  {
    name: 'an inner relation leaves another relation alone',
    from: 'PostgREST EmbedInnerJoinSpec "works alongside another embedding"',
    get: 'projects?select=id,client!inner(id),tasks(id)&tasks.id=eq.8&id=gte.4',
    rows: [{ id: 4, ...client(2), tasks: ids(8) }],
  },
];
