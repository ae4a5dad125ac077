/** The tables of PostgREST's test suite that the cases need, in an order in which references exist. */
interface Seed {
  columns: string[];
  rows: unknown[][];
}

export const seeds: Record<string, Seed> = {
  clients: {
    columns: ['id:int', 'name:text'],
    rows: [
      [1, 'Microsoft'],
      [2, 'Apple'],
    ],
  },
  projects: {
    columns: ['id:int', 'name:text', 'client_id:ref:clients:nullable'],
    rows: [
      [1, 'Windows 7', 1],
      [2, 'Windows 10', 1],
      [3, 'IOS', 2],
      [4, 'OSX', 2],
      [5, 'Orphan', null],
    ],
  },
  tasks: {
    columns: ['id:int', 'name:text', 'project_id:ref:projects:nullable'],
    rows: [
      [1, 'Design w7', 1],
      [2, 'Code w7', 1],
      [3, 'Design w10', 2],
      [4, 'Code w10', 2],
      [5, 'Design IOS', 3],
      [6, 'Code IOS', 3],
      [7, 'Design OSX', 4],
      [8, 'Code OSX', 4],
    ],
  },
  users: {
    columns: ['id:int', 'name:text'],
    rows: [
      [1, 'Angela Martin'],
      [2, 'Michael Scott'],
      [3, 'Dwight Schrute'],
    ],
  },
  users_tasks: {
    columns: ['id:int', 'user_id:ref:users', 'task_id:ref:tasks'],
    rows: [
      [1, 1, 1],
      [2, 1, 2],
      [3, 1, 3],
      [4, 1, 4],
      [5, 2, 5],
      [6, 2, 6],
      [7, 2, 7],
      [8, 3, 1],
      [9, 3, 5],
    ],
  },
  entities: {
    columns: ['id:int', 'name:text:nullable', 'arr:int[]:nullable'],
    rows: [
      [1, 'entity 1', [1]],
      [2, 'entity 2', [1, 2]],
      [3, 'entity 3', [1, 2, 3]],
      [4, null, null],
    ],
  },
  child_entities: {
    columns: ['id:int', 'name:text', 'parent_id:ref:entities'],
    rows: [
      [1, 'child entity 1', 1],
      [2, 'child entity 2', 1],
      [3, 'child entity 3', 2],
      [4, 'child entity 4', 1],
      [5, 'child entity 5', 1],
      [6, 'child entity 6', 2],
    ],
  },
  grandchild_entities: {
    columns: ['id:int', 'name:text', 'parent_id:ref:child_entities', 'jsonb_col:jsonb:nullable'],
    rows: [
      [1, 'grandchild entity 1', 1, null],
      [2, 'grandchild entity 2', 1, null],
      [3, 'grandchild entity 3', 2, null],
      [4, '(grandchild,entity,4)', 2, { a: { b: 'foo' } }],
      [5, '(grandchild,entity,5)', 2, { b: 'bar' }],
    ],
  },
  addresses: {
    columns: ['id:int', 'address:text'],
    rows: [
      [1, 'address 1'],
      [2, 'address 2'],
      [3, 'address 3'],
      [4, 'address 4'],
    ],
  },
  orders: {
    columns: ['id:int', 'name:text', 'billing_address_id:ref:addresses', 'shipping_address_id:ref:addresses'],
    rows: [
      [1, 'order 1', 1, 2],
      [2, 'order 2', 3, 4],
    ],
  },
  family_tree: {
    columns: ['id:text', 'name:text', 'parent:ref:family_tree:nullable'],
    rows: [
      ['1', 'Parental Unit', null],
      ['2', 'Kid One', '1'],
      ['3', 'Kid Two', '1'],
      ['4', 'Grandkid One', '2'],
      ['5', 'Grandkid Two', '3'],
    ],
  },
  organizations: {
    columns: [
      'id:int',
      'name:text',
      'referee:ref:organizations:nullable',
      'auditor:ref:organizations:nullable',
    ],
    rows: [
      [1, 'Referee Org', null, null],
      [2, 'Auditor Org', null, null],
      [3, 'Acme', 1, 2],
      [4, 'Umbrella', 1, 2],
      [5, 'Cyberdyne', 3, 4],
      [6, 'Oscorp', 3, 4],
    ],
  },
  status: { columns: ['id:int', 'name:text'], rows: [[3, 'open']] },
  tournaments: {
    columns: ['id:int', 'status:ref:status:nullable'],
    rows: [
      [1, 3],
      [2, null],
    ],
  },
  project_invoices: {
    columns: ['id:int', 'invoice_total:int:nullable', 'project_id:ref:projects'],
    rows: [
      [1, 100, 1],
      [2, 200, 1],
      [3, 500, 2],
      [4, 700, 2],
      [5, 1200, 3],
      [6, 2000, 3],
      [7, 100, 4],
      [8, 4000, 4],
    ],
  },
  budget_categories: {
    columns: ['id:int', 'category_name:text', 'budget_owner:text', 'budget_amount:decimal(12,2)'],
    rows: [
      [1, 'Beanie Babies', 'Brian Smith', '1000.31'],
      [2, 'DVDs', 'Jane Clarkson', '2000.12'],
      [3, 'Pizza', 'Brian Smith', '1000.11'],
      [4, 'Opera Tickets', 'Jane Clarkson', '7000.41'],
      [5, 'Nuclear Fusion Research', 'Sally Hughes', '500.23'],
      [6, 'T-5hirts', 'Dana de Groot', '500.33'],
    ],
  },
  no_pk: {
    columns: ['id:int', 'a:text:nullable', 'b:text:nullable'],
    rows: [
      [1, null, null],
      [2, '1', '0'],
      [3, '2', '0'],
    ],
  },
  chores: {
    columns: ['id:int', 'name:text', 'done:bool:nullable'],
    rows: [
      [1, 'take out the garbage', true],
      [2, 'do the laundry', false],
      [3, 'wash the dishes', null],
    ],
  },
  comma_names: {
    columns: ['id:int', 'name:text'],
    rows: [
      [1, 'Hebdon, John'],
      [2, 'Williams, Mary'],
      [3, 'David White'],
      [4, 'Double O Seven(007)'],
      [5, '"'],
      [6, 'Double"Quote"McGraw"'],
      [7, '\\'],
      [8, '/\\Slash/\\Beast/\\'],
      [9, ''],
    ],
  },
  json_table: {
    columns: ['id:int', 'data:jsonb:nullable'],
    rows: [
      [1, { foo: { bar: 'baz' }, id: 1 }],
      [3, { id: 3 }],
      [4, null],
    ],
  },
};

export const rowsOf = ({ columns, rows }: Seed): object[] =>
  rows.map((row) =>
    Object.fromEntries(columns.map((column, index) => [column.split(':', 1)[0], row[index]])),
  );
