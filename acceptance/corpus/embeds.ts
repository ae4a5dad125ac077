import { ids, names, type ReadCase } from './cases.ts';

const microsoft = { id: 1, name: 'Microsoft' };
const apple = { id: 2, name: 'Apple' };

/** Which rows are embedded, and how they look. */
export const embeds: ReadCase[] = [
  {
    name: 'a parent and children are embedded in one request',
    from: 'PostgREST QuerySpec "requesting parents and children"',
    get: 'projects?id=eq.1&select=id,name,client(id,name),tasks(id,name)',
    rows: [
      {
        id: 1,
        name: 'Windows 7',
        client: microsoft,
        tasks: [
          { id: 1, name: 'Design w7' },
          { id: 2, name: 'Code w7' },
        ],
      },
    ],
  },
  {
    name: 'a column of a parent has another key',
    from: 'PostgREST QuerySpec "requesting parent and renaming primary key"',
    get: 'projects?select=name,client(clientId:id,name)&id=lt.2',
    rows: [{ name: 'Windows 7', client: { clientId: 1, name: 'Microsoft' } }],
  },
  {
    name: 'a parent and children have other keys',
    from: 'PostgREST QuerySpec "requesting parents and children while renaming them"',
    get: 'projects?id=eq.1&select=myId:id,name,project_client:client_id(id,name),project_tasks:tasks(id,name)',
    rows: [
      {
        myId: 1,
        name: 'Windows 7',
        project_client: microsoft,
        project_tasks: [
          { id: 1, name: 'Design w7' },
          { id: 2, name: 'Code w7' },
        ],
      },
    ],
  },
  {
    name: 'rows without a parent are listed, with null',
    from: 'PostgREST QuerySpec "rows with missing parents are included"',
    get: 'projects?id=in.(1,5)&select=id,client(id)',
    rows: [
      { id: 1, client: { id: 1 } },
      { id: 5, client: null },
    ],
  },
  {
    name: 'rows without children have an empty list',
    from: 'PostgREST QuerySpec "rows with no children return [] instead of null"',
    get: 'projects?id=in.(5)&select=id,tasks(id)',
    rows: [{ id: 5, tasks: [] }],
  },
  {
    name: 'children of children are embedded',
    from: 'PostgREST QuerySpec "requesting children 2 levels"',
    get: 'clients?id=eq.1&select=id,projects(id,tasks(id))',
    rows: [
      {
        id: 1,
        projects: [
          { id: 1, tasks: ids(1, 2) },
          { id: 2, tasks: ids(3, 4) },
        ],
      },
    ],
  },
  {
    name: 'a table between two others is written out',
    from: 'PostgREST QuerySpec "requesting many<->many relation"',
    get: 'users?id=eq.2&select=id,users_tasks(task(id))',
    rows: [{ id: 2, users_tasks: [{ task: { id: 5 } }, { task: { id: 6 } }, { task: { id: 7 } }] }],
  },
  {
    name: 'a table beyond another one has no relation of its own',
    from: 'PostgREST QuerySpec "requesting many<->many relation"',
    differs: 'many to many',
    get: 'users?select=id,tasks(id)',
    status: 400,
    code: 'unknown_column',
  },
  {
    name: 'a table between two others is followed from the other side too',
    from: 'PostgREST QuerySpec "requesting many<->many relation reverse"',
    get: 'tasks?id=eq.1&select=id,users_tasks(user(id))',
    rows: [{ id: 1, users_tasks: [{ user: { id: 1 } }, { user: { id: 3 } }] }],
  },
  {
    name: 'a table between two others has another key',
    from: 'PostgREST QuerySpec "requesting many<->many relation with rename"',
    get: 'tasks?id=eq.2&select=id,theUsers:users_tasks(who:user(name))',
    rows: [{ id: 2, theUsers: [{ who: { name: 'Angela Martin' } }] }],
  },
  {
    name: 'the same children are embedded twice, with filters of their own',
    from: 'PostgREST QuerySpec aliased embeds "works with two aliased children embeds plus and/or"',
    get: 'entities?select=id,children:child_entities(id),others:child_entities(id)&children.and=(id.gt.1,id.lt.5)&others.or=(id.eq.1,id.eq.5)&id=eq.1',
    rows: [{ id: 1, children: ids(2, 4), others: ids(1, 5) }],
  },
  {
    name: 'children with and without an alias stand side by side',
    from: 'PostgREST QuerySpec aliased embeds "works with an aliased child plus non aliased child"',
    get: 'projects?select=id,name,designTasks:tasks(name),tasks(name)&designTasks.name=like.*Design*&tasks.name=like.*Code*&id=eq.1',
    rows: [{ id: 1, name: 'Windows 7', designTasks: names('Design w7'), tasks: names('Code w7') }],
  },
  {
    name: 'a filter under the alias holds for it',
    from: 'PostgREST QuerySpec aliased embeds "works with child relation"',
    get: 'projects?select=id,designTasks:tasks(id,name)&designTasks.name=like.*Design*&id=lte.2',
    rows: [
      { id: 1, designTasks: [{ id: 1, name: 'Design w7' }] },
      { id: 2, designTasks: [{ id: 3, name: 'Design w10' }] },
    ],
  },
  {
    name: 'behind an alias the name of the table means nothing',
    from: 'PostgREST QuerySpec "filters, orders or limits do not work with aliased embeded entities using the target name"',
    get: 'projects?select=id,designTasks:tasks(id)&tasks.name=like.*Design*',
    status: 400,
    code: 'invalid',
  },
  {
    name: 'two values with the same key are refused',
    from: 'PostgREST QuerySpec "works when embedding the same table more than once"',
    differs: 'equal keys',
    get: 'projects?select=id,tasks(id),tasks(name)',
    status: 400,
    code: 'duplicate',
  },
  {
    name: 'nothing in the brackets shows no parent',
    from: 'PostgREST QuerySpec empty embed "works on a many-to-one relationship"',
    get: 'projects?select=id,client()&id=lt.3',
    rows: ids(1, 2),
  },
  {
    name: 'nothing in the brackets shows no children',
    from: 'PostgREST QuerySpec empty embed "works on a one-to-many relationship"',
    get: 'clients?select=id,name,projects()',
    rows: [microsoft, apple],
  },
  {
    name: 'nothing in the brackets at the second level shows the first alone',
    from: 'PostgREST QuerySpec empty embed "works on nested relationships"',
    get: 'clients?select=id,projects(id,tasks())&id=eq.2',
    rows: [{ id: 2, projects: ids(3, 4) }],
  },
  {
    name: 'an empty select is refused',
    from: 'PostgREST QuerySpec empty root select "gives all columns"',
    differs: 'empty select',
    get: 'projects?select=',
    status: 400,
  },
  {
    name: 'the row that a column refers to can have the key of the column',
    from: 'PostgREST EmbedDisambiguationSpec "can embed by column"',
    get: 'projects?id=in.(1,3)&select=id,name,client_id(id,name)',
    rows: [
      { id: 1, name: 'Windows 7', client_id: microsoft },
      { id: 3, name: 'IOS', client_id: apple },
    ],
  },
  {
    name: 'a column and the row that it refers to are shown together',
    from: 'PostgREST EmbedDisambiguationSpec "can embed by column and select the column at the same time, if aliased"',
    get: 'projects?id=in.(1,3)&select=id,name,client_id,client:client_id(id,name)',
    rows: [
      { id: 1, name: 'Windows 7', client_id: 1, client: microsoft },
      { id: 3, name: 'IOS', client_id: 2, client: apple },
    ],
  },
  {
    name: 'a parent is named by its table together with the column',
    from: 'PostgREST EmbedDisambiguationSpec "can specify table!column"',
    get: 'orders?select=id,bill:addresses!billing_address_id(address),ship:addresses!shipping_address_id(address)&id=eq.2',
    rows: [{ id: 2, bill: { address: 'address 3' }, ship: { address: 'address 4' } }],
  },
  {
    name: 'a parent is not found by the name of its table alone',
    from: 'PostgREST QuerySpec "requesting parents and filtering parent columns"',
    differs: 'names of relations',
    get: 'projects?select=id,clients(name)',
    status: 400,
    code: 'unknown_column',
  },
  {
    name: 'two columns that refer to the same table are two relations',
    from: 'PostgREST EmbedDisambiguationSpec "embeds by using two fks pointing to the same table"',
    get: 'orders?id=eq.1&select=id, name, billing_address(address), shipping_address(address)',
    rows: [
      {
        id: 1,
        name: 'order 1',
        billing_address: { address: 'address 1' },
        shipping_address: { address: 'address 2' },
      },
    ],
  },
  {
    name: 'two columns that refer to the same table are named by the columns',
    from: 'PostgREST EmbedDisambiguationSpec "embeds by using two columns pointing to the same table"',
    get: 'orders?id=eq.1&select=id, name, billing_address_id(id), shipping_address_id(id)',
    rows: [{ id: 1, name: 'order 1', billing_address_id: { id: 1 }, shipping_address_id: { id: 2 } }],
  },
  {
    name: 'children by one of several columns need the name of the column',
    from: 'PostgREST EmbedDisambiguationSpec "errs on an ambiguous embed that has a circular reference"',
    differs: 'several relations',
    get: 'addresses?select=id,orders(id)',
    status: 400,
    code: 'ambiguous',
  },
  {
    name: 'children by a named column are found',
    from: 'PostgREST EmbedDisambiguationSpec "can disambiguate with the column in case of an o2m and m2m relationship to the same table"',
    get: 'addresses?select=id,orders!shipping_address_id(id)&id=lte.2',
    rows: [
      { id: 1, orders: [] },
      { id: 2, orders: ids(1) },
    ],
  },
  {
    name: 'children of children are found by the name of a column',
    from: 'PostgREST EmbedDisambiguationSpec "can specify a table!fk hint and request children 2 levels"',
    get: 'clients?id=eq.1&select=id,projects:projects!client_id(id,tasks(id))',
    rows: [
      {
        id: 1,
        projects: [
          { id: 1, tasks: ids(1, 2) },
          { id: 2, tasks: ids(3, 4) },
        ],
      },
    ],
  },
  {
    name: 'a column that is no reference to the table is refused',
    from: 'PostgREST EmbedDisambiguationSpec "fails if the fk is not known"',
    get: 'orders?select=id,sender:addresses!name(address)',
    status: 400,
  },
  {
    name: 'parents of parents are embedded where a table refers to itself',
    from: 'PostgREST EmbedDisambiguationSpec self reference "embeds parents recursively"',
    get: 'family_tree?id=in.(3,4)&select=id,parent(id,name,parent(id,name))&sort=id',
    rows: [
      { id: '3', parent: { id: '1', name: 'Parental Unit', parent: null } },
      { id: '4', parent: { id: '2', name: 'Kid One', parent: { id: '1', name: 'Parental Unit' } } },
    ],
  },
  {
    name: 'children of children are embedded where a table refers to itself',
    from: 'PostgREST EmbedDisambiguationSpec self reference "embeds children recursively"',
    get: 'family_tree?id=eq.1&select=id,children:family_tree!parent(id,children:family_tree!parent(id,name))',
    rows: [
      {
        id: '1',
        children: [
          { id: '2', children: [{ id: '4', name: 'Grandkid One' }] },
          { id: '3', children: [{ id: '5', name: 'Grandkid Two' }] },
        ],
      },
    ],
  },
  {
    name: 'a parent and its children are embedded where a table refers to itself',
    from: 'PostgREST EmbedDisambiguationSpec self reference "embeds parent and then embeds children"',
    get: 'family_tree?id=eq.2&select=id,name,parent(id,children:family_tree!parent(id,name))',
    rows: [
      {
        id: '2',
        name: 'Kid One',
        parent: {
          id: '1',
          children: [
            { id: '2', name: 'Kid One' },
            { id: '3', name: 'Kid Two' },
          ],
        },
      },
    ],
  },
  {
    name: 'two references of a table to itself are two parents',
    from: 'PostgREST EmbedDisambiguationSpec two self references "embeds parents"',
    get: 'organizations?select=id,name,referee(id,name),auditor(id,name)&id=eq.3',
    rows: [
      {
        id: 3,
        name: 'Acme',
        referee: { id: 1, name: 'Referee Org' },
        auditor: { id: 2, name: 'Auditor Org' },
      },
    ],
  },
  {
    name: 'two references of a table to itself are two kinds of children',
    from: 'PostgREST EmbedDisambiguationSpec two self references "embeds children"',
    get: 'organizations?select=id,refereeds:organizations!referee(id),auditeds:organizations!auditor(id)&id=eq.1',
    rows: [{ id: 1, refereeds: ids(3, 4), auditeds: [] }],
  },
  {
    name: 'a column that has the name of the table that it refers to is a reference all the same',
    from: 'PostgREST QuerySpec Embedding when column name = table name "works with child embeds"',
    get: 'tournaments?select=id,status(name)',
    rows: [
      { id: 1, status: { name: 'open' } },
      { id: 2, status: null },
    ],
  },
  {
    name: 'children are found where a column has the name of its table',
    from: 'PostgREST QuerySpec Embedding when column name = table name "works with many to many embeds"',
    get: 'status?select=id,tournaments(id)',
    rows: [{ id: 3, tournaments: ids(1) }],
  },
  {
    name: 'an unknown relation is refused',
    from: 'PostgREST QuerySpec "errs when the embedded resource doesn\'t exist and an embedded filter is applied to it"',
    get: 'projects?select=id,users(name)',
    status: 400,
    code: 'unknown_column',
  },
  {
    name: 'a filter on rows that are not embedded is refused',
    from: 'PostgREST QuerySpec "errs when the embedded resource doesn\'t exist and an embedded filter is applied to it"',
    get: 'clients?select=id&projects.name=eq.IOS',
    status: 400,
    code: 'invalid',
  },
  {
    name: 'a spread is refused',
    from: 'PostgREST SpreadQueriesSpec "works on a many-to-one relationship"',
    differs: 'spread',
    get: 'projects?select=id,...client(name)',
    status: 400,
  },
  {
    name: 'a cast is refused',
    from: 'PostgREST QuerySpec "one simple column with casting (text)"',
    differs: 'casts and paths in JSON',
    get: 'projects?select=id::text',
    status: 400,
  },
];
