import { expect, test } from 'bun:test';
import { rowContract } from '@svc/contract/all.ts';
import type { Endpoint } from '@svc/contract/endpoint.ts';
import { parametersIn } from '@svc/contract/openapi-parts.ts';
import { fixedKey } from '../../core/keys.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { RowPool } from '../../drivers/row-database/row-pool.ts';
import { testCaller } from '../../testing.ts';
import type { RowAction } from './access.ts';
import { createFeedPositions } from './feed-changes.ts';
import type { FilesDeps } from './files.ts';
import { createRowsHandler } from './handler.ts';
import { parseQuery, type QueryUse } from './parse-query.ts';
import { createCursors } from './plan.ts';
import { testTable } from './testing.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'] as const;

/** The error of a call to an existing table with the given access. */
async function callError(method: string, path: string, ...actions: RowAction[]): Promise<Failure> {
  const table = testTable();
  const rows = createRowsHandler({
    rowDb: {} as RowPool,
    findCredential: async () => ({ caller: testCaller(), pat: null }),
    tableAccess: {
      resolve: async () => ({
        app: { id: '', slug: 'app', record: 'active' },
        table,
        exportTable: table,
        access: { actions: new Set(actions), alternatives: [], insertsOwn: false },
        until: Number.POSITIVE_INFINITY,
      }),
      invalidate: () => {},
    },
    listPeople: () => Promise.reject(new Error('not used')),
    // What it answers is tested with the decision itself.
    ownAccess: async () => {
      throw fail('forbidden');
    },
    cursors: createCursors(fixedKey('test')),
    files: {} as FilesDeps,
    accessLog: { recordRead: () => {}, flush: async () => {}, stop: async () => {} },
    feeds: {
      hub: { wrote: () => {}, join: () => () => {}, close: () => {} },
      positions: createFeedPositions(fixedKey('test')),
      epoch: '',
    },
    now: () => new Date(),
  });
  const request = new Request(`http://svc.example.test${path}`, { method });
  const failure = await rows
    .answer(request, path, '', {
      requestId: 'test',
      extendTimeout: () => {},
      clientAddress: () => '',
    })
    .then(
      () => null,
      (error: unknown) => error,
    );
  if (failure instanceof Failure) return failure;
  throw new Error(`${method} ${path} did not fail.`, { cause: failure });
}

const at = ({ path }: Pick<Endpoint, 'path'>) => path.replaceAll(/\{(\w+)\}/g, '$1');
/** Of a batch each operation has its own right. */
const tableContract = rowContract.filter(({ endpoint }) => endpoint.id !== 'rows.batch');
const paths = [...new Set(tableContract.map(({ endpoint }) => endpoint.path))];

test('every row endpoint of the contract requires the right of its kind', async () => {
  expect(rowContract.map(({ endpoint }) => endpoint.id).sort()).toEqual([
    'rows.access',
    'rows.aggregate',
    'rows.batch',
    'rows.changes',
    'rows.count',
    'rows.delete',
    'rows.deleteMany',
    'rows.get',
    'rows.history',
    'rows.insert',
    'rows.list',
    'rows.restore',
    'rows.restoreMany',
    'rows.trash',
    'rows.update',
    'rows.updateMany',
  ]);
  for (const { endpoint } of tableContract) {
    const others: RowAction[] = endpoint.kind === 'read' ? ['insert', 'update', 'delete'] : ['read'];
    const { code } = await callError(endpoint.method, at(endpoint), ...others);
    expect([endpoint.id, code]).toEqual([endpoint.id, 'forbidden']);
  }
});

test('other methods are refused, and Allow lists the supported ones', async () => {
  for (const path of paths) {
    const known = rowContract.filter(({ endpoint }) => endpoint.path === path);
    const allowed = known.map(({ endpoint }) => endpoint.method);
    for (const method of methods.filter((it) => !allowed.some((known) => known === it))) {
      const { code, headers } = await callError(method, at({ path }));
      expect([method, path, code]).toEqual([method, path, 'method_not_allowed']);
      const head = allowed.includes('GET') ? ['HEAD'] : [];
      expect(headers?.allow?.split(', ').sort()).toEqual([...allowed, ...head].sort());
    }
    // The same as GET without its body.
    if (!allowed.includes('GET')) continue;
    expect((await callError('HEAD', at({ path }))).code).toBe('forbidden');
  }
  const { code, headers } = await callError('GET', '/data/tenant/app/_batch');
  expect([code, headers?.allow]).toEqual(['method_not_allowed', 'POST']);
});

test.each(['/data/', '/data/t', '/data/t/a', '/data/t/a/', '/data/t/a/b/', '/data/t/a/b/c/d', '/data//a/b'])(
  '%s is not found, whatever the method',
  async (path) => {
    for (const method of [...methods, 'HEAD']) expect((await callError(method, path)).code).toBe('not_found');
  },
);

test('the parser accepts exactly the query parameters of the contract', () => {
  const uses: Record<string, QueryUse> = {
    'rows.list': 'list',
    'rows.count': 'count',
    'rows.aggregate': 'aggregate',
    'rows.changes': 'changes',
    'rows.history': 'history',
    'rows.trash': 'history',
    'rows.restore': 'change',
    'rows.restoreMany': 'change',
    'rows.get': 'one',
    'rows.insert': 'insert',
    'rows.update': 'change',
    'rows.delete': 'change',
    'rows.updateMany': 'changeMany',
    'rows.deleteMany': 'changeMany',
    'rows.batch': 'change',
  };
  const samples: Record<string, string> = {
    select: 'a',
    sort: '-a',
    page: '1',
    per_page: '1',
    cursor: 'x',
    count: 'exact',
    filter: 'a=1',
    or: '(a.eq.1)',
    and: '(a.eq.1)',
    not: '(a.eq.1)',
    'not.and': '(a.eq.1)',
    'not.or': '(a.eq.1)',
    on_conflict: 'a',
    // Without the underscore these may be columns.
    _max_affected: '1',
    dry_run: 'true',
    _distinct: 'a',
    _having: 'a.gt.1',
    _search: 'a',
    _snapshot: 'true',
  };
  for (const { endpoint, shape } of rowContract.filter(({ endpoint }) => endpoint.id !== 'rows.access')) {
    const named = parametersIn('query', shape.query).map(({ name }) => String(name));
    const described = [...named, ...(endpoint.kind === 'mutate' ? ['dry_run'] : [])];
    const taken = Object.entries(samples).flatMap(([name, value]) => {
      try {
        const { where } = parseQuery(`${name}=${value}`, uses[endpoint.id]!);
        return where.some((condition) => condition.kind === 'test' && condition.column === name)
          ? []
          : [name.replace(/^_/, '')];
      } catch (error) {
        if (error instanceof Failure && error.code === 'unknown_parameter') return [];
        throw error;
      }
    });
    expect([endpoint.id, taken.sort()]).toEqual([endpoint.id, described.sort()]);
  }
});
