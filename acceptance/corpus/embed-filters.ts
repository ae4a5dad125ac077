import { ids, names, type ReadCase } from './cases.ts';

/** Filters, order and number of related rows, and what they mean for the rows of the list. */
export const embedFilters: ReadCase[] = [
  {
    name: 'rows are sorted by their parent, without one first in descending order',
    from: 'PostgREST RelatedQueriesSpec related orders "works on a many-to-one relationship"',
    get: 'projects?select=id,client(name)&sort=-client.name,id',
    rows: [
      { id: 5, client: null },
      { id: 1, client: { name: 'Microsoft' } },
      { id: 2, client: { name: 'Microsoft' } },
      { id: 3, client: { name: 'Apple' } },
      { id: 4, client: { name: 'Apple' } },
    ],
  },
  {
    name: 'rows without a parent come last in ascending order',
    from: 'PostgREST RelatedQueriesSpec related orders "works on a many-to-one relationship"',
    get: 'projects?select=id&sort=client.name',
    rows: ids(3, 4, 1, 2, 5),
  },
  {
    name: 'embedded rows are sorted by their parent',
    from: 'PostgREST RelatedQueriesSpec related orders "works on an embedded resource"',
    get: 'users?select=name,users_tasks(task(id))&users_tasks.sort=-task.project.id,task.name&id=eq.1',
    rows: [
      {
        name: 'Angela Martin',
        users_tasks: [4, 3, 2, 1].map((id) => ({ task: { id } })),
      },
    ],
  },
  {
    name: 'rows are not sorted by their children',
    from: 'PostgREST RelatedQueriesSpec related orders "fails when is not a to-one relationship"',
    get: 'clients?select=*,projects(*)&sort=projects.id',
    status: 400,
  },
  {
    name: 'rows are not sorted by an unknown relation',
    from: 'PostgREST RelatedQueriesSpec related orders "fails when the resource is not embedded"',
    get: 'projects?select=id,client(name)&sort=clientsx.name',
    status: 400,
  },
  {
    name: 'a sort by a parent needs no embedded parent',
    from: 'PostgREST RelatedQueriesSpec related orders "fails when the resource is not embedded"',
    differs: 'filters through a single row',
    get: 'projects?select=id&sort=-client.name,-id&id=lt.5',
    rows: ids(2, 1, 4, 3),
  },
  {
    name: 'rows with a parent are found by not is null',
    from: 'PostgREST RelatedQueriesSpec null operator "works on a many-to-one relationship"',
    get: 'projects?select=name,client()&client=not.is.null',
    rows: names('Windows 7', 'Windows 10', 'IOS', 'OSX'),
  },
  {
    name: 'rows without a parent are found by is null',
    from: 'PostgREST RelatedQueriesSpec null operator "works on a many-to-one relationship"',
    get: 'projects?select=name,client()&client=is.null',
    rows: names('Orphan'),
  },
  {
    name: 'rows with children are found by not is null',
    from: 'PostgREST RelatedQueriesSpec null operator "works on a one-to-many relationship"',
    get: 'entities?select=name,child_entities()&child_entities=not.is.null',
    rows: names('entity 1', 'entity 2'),
  },
  {
    name: 'rows without children are found by is null, under an alias too',
    from: 'PostgREST RelatedQueriesSpec null operator "works on a one-to-many relationship"',
    get: 'entities?select=name,childs:child_entities()&childs=is.null',
    rows: names('entity 3', null),
  },
  {
    name: 'is null and not is null look at the filtered children',
    from: 'PostgREST RelatedQueriesSpec null operator "works on a many-to-many relationship"',
    get: 'users?select=name,users_tasks()&users_tasks.task_id=eq.1&users_tasks=is.null',
    rows: names('Michael Scott'),
  },
  {
    name: 'not is null at two levels lists rows with grandchildren',
    from: 'PostgREST RelatedQueriesSpec null operator "works on nested embeds"',
    get: 'entities?select=name,child_entities(name,grandchild_entities())&child_entities.grandchild_entities=not.is.null&child_entities=not.is.null',
    rows: [{ name: 'entity 1', child_entities: names('child entity 1', 'child entity 2') }],
  },
  {
    name: 'one of two relations is enough in an or',
    from: 'PostgREST RelatedQueriesSpec null operator "can do an or across embeds"',
    get: 'projects?select=id,tasks(),project_invoices()&tasks.name=like.*w7&project_invoices.invoice_total=gt.3000&or=(tasks.not.is.null,project_invoices.not.is.null)',
    rows: ids(1, 4),
  },
  {
    name: 'a filter on the column works beside the embedded row',
    from: 'PostgREST RelatedQueriesSpec null operator "doesn\'t interfere filtering when embedding using the column name"',
    get: 'projects?select=name,client_id,client:client_id(name)&client_id=eq.2',
    rows: [
      { name: 'IOS', client_id: 2, client: { name: 'Apple' } },
      { name: 'OSX', client_id: 2, client: { name: 'Apple' } },
    ],
  },
  {
    name: 'a filter on a column with the name of its relation is a filter on the column',
    from: 'PostgREST RelatedQueriesSpec null operator "doesn\'t interfere filtering on column names that are the same as the relation name"',
    get: 'tournaments?select=id,status(name)&status=eq.3',
    rows: [{ id: 1, status: { name: 'open' } }],
  },
  {
    name: 'is null with an unknown relation is refused',
    from: 'PostgREST QuerySpec "errs when the embedded resource doesn\'t exist and an embedded filter is applied to it"',
    get: 'entities?select=name&nothing=is.null',
    status: 400,
  },
  {
    name: 'a group of conditions filters children',
    from: 'PostgREST AndOrParamsSpec embedded levels "can do logic on the second level"',
    get: 'entities?child_entities.or=(id.eq.1,name.eq.child entity 2)&select=id,child_entities(id)',
    rows: [
      { id: 1, child_entities: ids(1, 2) },
      { id: 2, child_entities: [] },
      { id: 3, child_entities: [] },
      { id: 4, child_entities: [] },
    ],
  },
  {
    name: 'a group of conditions filters grandchildren',
    from: 'PostgREST AndOrParamsSpec embedded levels "can do logic on the third level"',
    get: 'entities?child_entities.grandchild_entities.or=(id.eq.1,id.eq.2)&select=id,child_entities(id,grandchild_entities(id))&id=eq.1',
    rows: [
      {
        id: 1,
        child_entities: [
          { id: 1, grandchild_entities: ids(1, 2) },
          { id: 2, grandchild_entities: [] },
          { id: 4, grandchild_entities: [] },
          { id: 5, grandchild_entities: [] },
        ],
      },
    ],
  },
  {
    name: 'filters at several levels hold each at its own',
    from: 'PostgREST QuerySpec "matches filtering nested items"',
    get: 'clients?select=id,projects(id,tasks(id,name))&projects.tasks.name=like.Design*',
    rows: [
      {
        id: 1,
        projects: [
          { id: 1, tasks: [{ id: 1, name: 'Design w7' }] },
          { id: 2, tasks: [{ id: 3, name: 'Design w10' }] },
        ],
      },
      {
        id: 2,
        projects: [
          { id: 3, tasks: [{ id: 5, name: 'Design IOS' }] },
          { id: 4, tasks: [{ id: 7, name: 'Design OSX' }] },
        ],
      },
    ],
  },
  {
    name: 'children are sorted',
    from: 'PostgREST QuerySpec "ordering embeded entities"',
    get: 'projects?id=eq.1&select=id,name,tasks(id,name)&tasks.sort=name',
    rows: [
      {
        id: 1,
        name: 'Windows 7',
        tasks: [
          { id: 2, name: 'Code w7' },
          { id: 1, name: 'Design w7' },
        ],
      },
    ],
  },
  {
    name: 'children are sorted under an alias',
    from: 'PostgREST QuerySpec "ordering embeded entities with alias"',
    get: 'projects?id=eq.1&select=id,the_tasks:tasks(id)&the_tasks.sort=-id',
    rows: [{ id: 1, the_tasks: ids(2, 1) }],
  },
  {
    name: 'children are sorted at two levels',
    from: 'PostgREST QuerySpec "ordering embeded entities, two levels"',
    get: 'clients?select=id,projects(id,tasks(id))&projects.sort=-id&projects.tasks.sort=-id&id=eq.1',
    rows: [
      {
        id: 1,
        projects: [
          { id: 2, tasks: ids(4, 3) },
          { id: 1, tasks: ids(2, 1) },
        ],
      },
    ],
  },
  {
    name: 'a single row is not sorted',
    from: 'PostgREST QuerySpec "ordering embeded parents does not break things"',
    differs: 'order of a single row',
    get: 'projects?id=eq.1&select=id,client(id)&client.sort=name',
    status: 400,
  },
  {
    name: 'children are limited at every level',
    from: 'PostgREST RangeSpec "limit works on all levels"',
    get: 'clients?select=id,projects(id,tasks(id))&per_page=1&projects.limit=1&projects.tasks.limit=1',
    rows: [{ id: 1, projects: [{ id: 1, tasks: ids(1) }] }],
  },
  {
    name: 'an offset of children is refused',
    from: 'PostgREST RangeSpec "limit and offset works on first level"',
    differs: 'offsets',
    get: 'clients?select=id,projects(id)&projects.offset=1',
    status: 400,
  },
  {
    name: 'a filter through the parent needs no embedded parent',
    from: 'PocketBase TestRecordCrudList "multi-match - at least one of (clients)"',
    get: 'tasks?select=id&project.client.name=eq.Apple&name=sw.Code',
    rows: ids(6, 8),
  },
  {
    name: 'a filter through the parent stands in a group beside other conditions',
    from: 'PocketBase TestRecordCrudList "multi-match - at least one of (clients)"',
    get: 'projects?select=id&or=(client.name.eq.Apple,name.eq.Orphan)',
    rows: ids(3, 4, 5),
  },
  {
    name: 'without a parent its columns are null',
    from: 'PocketBase TestFilterDataBuildExpr "combination of special literals (null, true, false)"',
    get: 'projects?select=id&client.name=is.null',
    rows: ids(5),
  },
  {
    name: 'rows of which at least one child meets a filter are found by inner',
    from: 'PocketBase TestRecordCrudList "multi-match - at least one of (clients)"',
    get: 'projects?select=id,project_invoices!inner()&project_invoices.invoice_total=eq.100',
    rows: ids(1, 4),
  },
  {
    name: 'rows of which all children meet a filter are found by the absence of others',
    from: 'PocketBase TestRecordCrudList "multi-match - all (clients)"',
    get: 'projects?select=id,all:project_invoices!inner(),others:project_invoices()&others.invoice_total=neq.100&others=is.null',
    rows: [],
  },
  {
    name: 'a repeated limit of children is refused',
    from: 'PostgREST RangeSpec "limit works on all levels"',
    get: 'projects?select=id,tasks(id)&tasks.limit=1&tasks.limit=2',
    status: 400,
    code: 'duplicate',
  },
  {
    name: 'a repeated order of children is refused',
    from: 'PostgREST QuerySpec "ordering embeded entities"',
    get: 'projects?select=id,tasks(id)&tasks.sort=id&tasks.sort=-id',
    status: 400,
    code: 'duplicate',
  },
  {
    name: 'an order of children that is none names its parameter',
    from: 'PostgREST QuerySpec "gives meaningful error message on bad syntax"',
    get: 'projects?select=id,tasks(id)&tasks.sort=id,',
    status: 400,
    body: { errors: [{ field: 'tasks.sort', code: 'invalid' }] },
  },
  {
    name: 'a misspelt operator on a parent is noted with the name of the relation',
    from: 'PostgREST QuerySpec "fails if an operator is not given"',
    get: 'projects?select=id&client.name=eqq.Apple',
    note: 'client.name: ',
    rows: [],
  },
  {
    name: 'a negated group filters children',
    from: 'PostgREST AndOrParamsSpec "can negate simple logic"',
    get: 'entities?select=id,child_entities(id)&child_entities.not.or=(id.eq.1,id.eq.2)&id=eq.1',
    rows: [{ id: 1, child_entities: ids(4, 5) }],
  },
  {
    name: 'a limit of children does not decide which rows are listed',
    from: 'PostgREST RangeSpec "limit works on all levels"',
    get: 'clients?select=id,projects!inner(id)&projects.limit=1&projects.sort=-id&projects.id=in.(1,2,3)',
    rows: [
      { id: 1, projects: ids(2) },
      { id: 2, projects: ids(3) },
    ],
  },
  {
    name: 'a key of related rows that is a column leaves filters on the column alone',
    from: 'PostgREST RelatedQueriesSpec "doesn\'t interfere filtering on column names used for disambiguation"',
    get: 'projects?select=id,name:client(name)&name=eq.IOS',
    rows: [{ id: 3, name: { name: 'Apple' } }],
  },
  {
    name: 'a filter goes through two references of a table to itself',
    from: 'PocketBase TestRecordCrudList "multi-match - at least one of (clients)"',
    get: 'family_tree?select=id&parent.parent.name=eq.Parental Unit',
    rows: ids('4', '5'),
  },
  {
    name: 'a negated group has conditions on the existence of children',
    from: 'PostgREST RelatedQueriesSpec "can do an or across embeds"',
    get: 'projects?select=id,tasks()&not.and=(tasks.is.null,id.gt.1)',
    rows: ids(1, 2, 3, 4),
  },
  {
    name: 'related rows are compared with null alone',
    from: 'PostgREST RelatedQueriesSpec "works on a one-to-many relationship"',
    get: 'projects?select=id,tasks(id)&tasks=eq.1',
    status: 400,
  },
];
