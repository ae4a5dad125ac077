import { ids, names, type ReadCase } from './cases.ts';

/** What PocketBase calls expand. */
export const expand: ReadCase[] = [
  {
    name: 'one row has its related rows too',
    from: 'PocketBase TestRecordCrudView "expand relations"',
    get: 'projects/3?select=id,client(name),tasks(id)',
    body: { id: 3, client: { name: 'Apple' }, tasks: ids(5, 6) },
  },
  {
    name: 'an unknown relation in a request for one row is refused',
    from: 'PocketBase TestExpandRecord "missing relation field"',
    differs: 'unknown names',
    get: 'projects/3?select=id,owner(name)',
    status: 400,
    code: 'unknown_column',
  },
  {
    name: 'a column that is no reference embeds nothing',
    from: 'PocketBase TestExpandRecords "existing, but non-relation type field"',
    differs: 'unknown names',
    get: 'projects?select=id,name(id)',
    status: 400,
  },
  {
    name: 'an unknown relation at the second level is refused',
    from: 'PocketBase TestExpandRecords "invalid/missing second level expand"',
    differs: 'unknown names',
    get: 'projects?select=id,client(id,owner(name))',
    status: 400,
    code: 'unknown_column',
  },
  {
    name: 'relations are nested at most three deep',
    from: 'PocketBase TestExpandRecords "maxExpandDepth reached"',
    differs: 'depth',
    get: 'family_tree?select=id,parent(parent(parent(parent(id))))',
    status: 400,
    code: 'too_deep',
  },
  {
    name: 'rows that refer to a row are named by their table',
    from: 'PocketBase TestExpandRecords "simple back expand via single relation field"',
    get: 'clients?select=name,projects!client_id(name)&id=eq.2',
    rows: [{ name: 'Apple', projects: names('IOS', 'OSX') }],
  },
  {
    name: 'relations forward and back are nested',
    from: 'PocketBase TestExpandRecords "nested back expand via single relation field"',
    get: 'tasks?id=eq.1&select=id,project(client(projects(id)))',
    rows: [{ id: 1, project: { client: { projects: ids(1, 2) } } }],
  },
  {
    name: 'several relations share the beginning of their way',
    from: 'PocketBase TestExpandRecords "expand multiple relations sharing a common path"',
    get: 'tasks?id=eq.5&select=id,project(name,client(name),project_invoices(id))',
    rows: [{ id: 5, project: { name: 'IOS', client: { name: 'Apple' }, project_invoices: ids(5, 6) } }],
  },
  {
    name: 'nothing to embed is null or an empty list',
    from: 'PocketBase TestExpandRecord "no rels to expand"',
    differs: 'absent relations',
    get: 'projects/5?select=id,client(name),tasks(id)',
    body: { id: 5, client: null, tasks: [] },
  },
];
