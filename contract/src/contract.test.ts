import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { contract } from './all.ts';
import { address } from './client.ts';
import { errorCodes } from './error-codes.ts';
import { exitCodes } from './exit-codes.ts';
import { createGrant, scope } from './grants.shapes.ts';
import { chars, pageQuery } from './shapes.ts';

describe('error codes', () => {
  test('each has a documented status and exit code', () => {
    for (const [code, row] of Object.entries(errorCodes)) {
      expect({ code, status: row.status >= 400 && row.status < 600 }).toEqual({ code, status: true });
      expect({ code, explained: Object.hasOwn(exitCodes, row.exit) }).toEqual({ code, explained: true });
    }
  });

  test('each kind of error has its exit code', () => {
    for (const [code, row] of Object.entries(errorCodes)) {
      if (row.status === 409) expect([6, 11, 15]).toContain(row.exit);
      if (row.status === 404) expect({ code, exit: row.exit }).toEqual({ code, exit: 5 });
      if (row.status >= 500) expect({ code, exit: row.exit }).toEqual({ code, exit: 13 });
    }
  });
});

describe('endpoints', () => {
  test('an endpoint below a tenant declares its role and the response for outsiders', () => {
    for (const { endpoint } of contract) {
      if (!endpoint.path.includes('{tenantID}')) continue;
      expect({ id: endpoint.id, role: endpoint.authority.role !== undefined }).toEqual({
        id: endpoint.id,
        role: true,
      });
      expect(endpoint.authority.outsider).toBeDefined();
    }
  });

  test('the authorization row of an endpoint agrees with its role', () => {
    for (const { endpoint } of contract) {
      const { role, credential, token } = endpoint.authority;
      if (credential === 'login')
        expect([endpoint.id, endpoint.who.N, endpoint.who.P]).toEqual([endpoint.id, 'n', token ? 'd' : 'n']);
      if (role === 'tenant_admin') expect([endpoint.id, endpoint.who.M]).toEqual([endpoint.id, 'n']);
      if (role) expect([endpoint.id, endpoint.who.X]).toEqual([endpoint.id, 'n']);
    }
  });

  test('a token with deploy can be used at the endpoints of deployments, releases and runs only', () => {
    const ids = contract
      .filter(({ endpoint }) => endpoint.authority.token)
      .map(({ endpoint }) => endpoint.id);
    expect(ids.sort()).toEqual([
      'apps.instances',
      'apps.restart',
      'apps.scale',
      'deployments.cancel',
      'deployments.create',
      'deployments.get',
      'deployments.grantUpload',
      'deployments.list',
      'deployments.logs',
      'deployments.rollback',
      'previews.delete',
      'previews.get',
      'previews.list',
      'previews.redeploy',
      'releases.activate',
      'releases.create',
      'releases.finalize',
      'releases.get',
      'releases.grantUpload',
      'releases.list',
      'releases.rollback',
      'releases.stage',
      'runs.cancel',
      'runs.create',
      'runs.get',
      'runs.list',
      'runs.logs',
      'schedules.list',
      'schedules.run',
      'schedules.runs',
      'sites.get',
    ]);
  });

  test('a service account can use tables and storage with these actions, and nothing else', () => {
    const ids = (action: string) =>
      contract
        .filter(({ endpoint }) => endpoint.authority.account === action)
        .map(({ endpoint }) => endpoint.id)
        .sort();
    expect(ids('storage')).toEqual([
      'storage.copy',
      'storage.delete',
      'storage.getUrl',
      'storage.list',
      'storage.signUpload',
    ]);
    expect(ids('tables')).toEqual([
      'columns.add',
      'columns.drop',
      'columns.update',
      'indexes.add',
      'indexes.drop',
      'indexes.list',
      'tables.apply',
      'tables.check',
      'tables.create',
      'tables.drop',
      'tables.export',
      'tables.get',
      'tables.getAccess',
      'tables.list',
      'tables.setAccess',
      'tables.update',
    ]);
  });

  test('a path parameter is encoded as one segment', () => {
    const endpoint = contract[0]!.endpoint;
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
        const path = address({ ...endpoint, path: '/a/{x}/b' }, { params: { x: text } });
        expect(path.split('/')).toHaveLength(4);
        expect(decodeURIComponent(path.split('/')[2]!)).toBe(text);
      }),
    );
  });
});

describe('shapes', () => {
  test('a scope is limited to 200 entries after duplicates are removed', () => {
    const distinct = Array.from({ length: 200 }, (_, i) => `s/${i}`);
    expect(scope.parse([...distinct, ...distinct])).toHaveLength(200);
    expect(scope.safeParse([...distinct, 'one/more']).success).toBe(false);
  });

  test('a scope entry is `schema` or `schema/table` and nothing else', () => {
    for (const good of ['sales', 'sales/orders', 'a.b', 'ü/ö'])
      expect(scope.safeParse([good]).success).toBe(true);
    for (const bad of ['', '/', 'a/', '/a', 'a/b/c', 'a b', 'a\n', 'a/\u0000', 'x'.repeat(129)]) {
      expect({ bad, ok: scope.safeParse([bad]).success }).toEqual({ bad, ok: false });
    }
  });

  test('lengths count characters, not UTF-16 units', () => {
    expect(chars(1, 3).safeParse('🎉🎉🎉').success).toBe(true);
    expect(chars(1, 3).safeParse('🎉🎉🎉🎉').success).toBe(false);
    expect(chars(1, 3).safeParse('').success).toBe(false);
  });

  test('page numbers are whole numbers written with digits', () => {
    for (const bad of ['0', '-1', '1.5', '1e3', ' 1', '0x1', '', 'abc', '9999999999']) {
      expect({ bad, ok: pageQuery.safeParse({ page: bad }).success }).toEqual({ bad, ok: false });
    }
    expect(pageQuery.parse({ page: '2', per_page: '200' })).toEqual({ page: 2, per_page: 200 });
    expect(pageQuery.safeParse({ per_page: '201' }).success).toBe(false);
  });

  test('an expiry is an RFC 3339 time; words and dates alone are refused', () => {
    const body = { subject_id: 'a', connector_id: 'b', preset_id: 'reader' };
    for (const bad of [
      'now',
      'tomorrow',
      'infinity',
      '2027-01-01',
      '01/02/2027',
      '2027-02-30T00:00:00Z',
      '2027-01-01T00:00:00',
    ]) {
      expect({ bad, ok: createGrant.body.safeParse({ ...body, expires_at: bad }).success }).toEqual({
        bad,
        ok: false,
      });
    }
    expect(createGrant.body.safeParse({ ...body, expires_at: '2027-01-01T00:00:00+09:00' }).success).toBe(
      true,
    );
  });
});
