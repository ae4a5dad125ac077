import { expect, test } from 'bun:test';
import { rowContract } from '@svc/contract/all.ts';
import type { Endpoint } from '@svc/contract/endpoint.ts';
import { parametersIn } from '@svc/contract/openapi-parts.ts';
import type { RowDatabase } from '../drivers/row-database/row-database.ts';
import { Failure } from '../plumbing/problem.ts';
import { silentLog, testCaller } from '../testing.ts';
import type { RowAccess } from './access-rules.ts';
import { parseQuery, type QueryUse } from './parse-query.ts';
import { createRows } from './routes.ts';
import { rowTable } from './row-table.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'] as const;

/** How far a call gets at a table that is there, with the rights given: `forbidden` is as far as they go. */
async function answered(method: string, path: string, access: Partial<RowAccess> = {}): Promise<Failure> {
  const table = rowTable({
    ...{ id: '', tenantId: '', appId: '', name: 'table', schema: 's', table: 't', version: 1 },
    ...{ columns: [], owner: null, unique: [] },
    idColumn: { name: 'id', physical: 'c1', type: 'uuid', nullable: false, default: null, role: 'id' },
  });
  const rows = createRows({
    rowDb: {} as RowDatabase,
    findCredential: async () => ({ caller: testCaller(), pat: null }),
    reach: {
      find: async () => ({
        app: { id: '', slug: 'app', record: 'active' },
        table,
        access: { read: false, write: false, ownRowsOf: null, ...access },
      }),
      forget: () => {},
    },
    cursorKey: 'test',
  });
  const request = new Request(`http://svc.example.test${path}`, { method });
  const refusal = await rows
    .answer(request, path, '', { requestId: 'test', log: silentLog, patient: () => {} })
    .then(
      () => null,
      (error: unknown) => error,
    );
  if (refusal instanceof Failure) return refusal;
  throw new Error(`${method} ${path} was not refused.`, { cause: refusal });
}

const at = ({ path }: Pick<Endpoint, 'path'>) => path.replaceAll(/\{(\w+)\}/g, '$1');
const paths = [...new Set(rowContract.map(({ endpoint }) => endpoint.path))];

test('every entry of the contract for rows is answered, each with the right that its kind asks for', async () => {
  expect(rowContract.map(({ endpoint }) => endpoint.id).sort()).toEqual([
    ...['rows.count', 'rows.delete', 'rows.get', 'rows.insert', 'rows.list', 'rows.update'],
  ]);
  for (const { endpoint } of rowContract) {
    const others = endpoint.kind === 'read' ? { write: true } : { read: true };
    const { code } = await answered(endpoint.method, at(endpoint), others);
    expect([endpoint.id, code]).toEqual([endpoint.id, 'forbidden']);
  }
});

test('no other method is answered on their paths, and Allow names those that are', async () => {
  for (const path of paths) {
    const known = rowContract.filter(({ endpoint }) => endpoint.path === path);
    const allowed = known.map(({ endpoint }) => endpoint.method);
    for (const method of methods.filter((it) => !allowed.some((known) => known === it))) {
      const { code, headers } = await answered(method, at({ path }));
      expect([method, path, code]).toEqual([method, path, 'method_not_allowed']);
      expect(headers?.allow?.split(', ').sort()).toEqual([...allowed, 'HEAD'].sort());
    }
    // Of a GET without its body.
    expect((await answered('HEAD', at({ path }))).code).toBe('forbidden');
  }
});

test.each(['/data/', '/data/t', '/data/t/a', '/data/t/a/', '/data/t/a/b/', '/data/t/a/b/c/d', '/data//a/b'])(
  '%s is no path of rows, whatever the method',
  async (path) => {
    for (const method of [...methods, 'HEAD']) expect((await answered(method, path)).code).toBe('not_found');
  },
);

test('each query parameter of the contract is known to the parser of its call, and no other', () => {
  const uses: Record<string, QueryUse> = {
    ...{ 'rows.list': 'list', 'rows.count': 'count', 'rows.get': 'one' },
    ...{ 'rows.insert': 'insert', 'rows.update': 'change', 'rows.delete': 'change' },
  };
  const samples: Record<string, string> = {
    ...{ select: 'a', sort: '-a', page: '1', per_page: '1', cursor: 'x', count: 'exact', filter: 'a=1' },
    ...{ or: '(a.eq.1)', and: '(a.eq.1)', not: '(a.eq.1)', 'not.and': '(a.eq.1)', 'not.or': '(a.eq.1)' },
    ...{ on_conflict: 'a', dry_run: 'true' },
  };
  for (const { endpoint, shape } of rowContract) {
    const named = parametersIn('query', shape.query).map(({ name }) => String(name));
    const described = [...named, ...(endpoint.kind === 'mutate' ? ['dry_run'] : [])];
    const taken = Object.entries(samples).flatMap(([name, value]) => {
      try {
        parseQuery(`${name}=${value}`, uses[endpoint.id]!);
        return [name];
      } catch (error) {
        if (error instanceof Failure && error.code === 'unknown_parameter') return [];
        throw error;
      }
    });
    expect([endpoint.id, taken.sort()]).toEqual([endpoint.id, described.sort()]);
  }
});
