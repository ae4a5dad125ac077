import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { queryUrl } from './support/database.ts';
import { governedWorld } from './support/governed.ts';
import { lines, ndjson, rowsWorld } from './support/rows.ts';

const url = process.env.SVC_TEST_CITUS_URL;

/** The other tests of rows and tables run on Citus as well where it is configured. */
describe.if(url !== undefined)('tables on Citus', () => {
  const world = useFixture(rowsWorld);

  test('each app has a schema on a worker, and what belongs to none is on the coordinator', async () => {
    const table = await world.table(['name:text']);
    await table.insert({ name: 'Rex' });
    const schema = `app_${world.app.id.replaceAll('-', '')}`;
    const placed = await queryUrl(
      url!,
      `select shard.nodeport <> (select nodeport from pg_dist_node where groupid = 0) as "isWorker"
       from citus_shards shard where shard.table_name::text like '%${schema}%'`,
    );
    expect(placed).toEqual([{ isWorker: true }]);
    const schemas = await queryUrl(url!, `select schema_name::text as name from citus_schemas`);
    expect(schemas.map(({ name }) => name)).not.toContain('svc_data');
  });

  test('what needs triggers that workers do not have is refused with the reason', async () => {
    for (const [columns, more] of [
      [['name:text'], { changes: true }],
      [['name:text'], { history: '30d' }],
      [['photo:file:nullable'], {}],
    ] as const) {
      const body = { name: 'refused', columns, ...more };
      const answer = await world.owner.call('POST', world.tables, body);
      expect([answer.status, answer.body.code]).toEqual([409, 'runtime_unsupported']);
      expect(answer.body.detail).toContain('Citus');
    }
  });

  describe('under an enforced policy', () => {
    const governed = useFixture(governedWorld);

    async function orders(policy: object) {
      const table = await governed.table(['region:text', 'email:text', 'total:int', 'code:text']);
      await table.shape('POST', '/indexes', { columns: ['code'], unique: true });
      const [eu, us] = await table.insert(order('eu', 'a'), order('us', 'b'));
      await governed.policy(governed.pathOf(table), { enforced: true, ...policy });
      return { ...table, eu, us };
    }
    const order = (region: string, code: string) => ({ region, email: 'ada@example.com', total: 14, code });
    const filters = ['region=eq.eu', 'region=in.(eu,ca)', 'or=(region.eq.eu,and(total.gt.1,region.like.e*))'];

    test('a row that its filter does not find is refused, one that it finds is returned', async () => {
      for (const row_filter of filters) {
        const table = await orders({ row_filter });
        const send = async (region: string, code: string, ...more: [string?, Record<string, string>?]) => {
          const [search = '', headers] = more;
          const { status, body } = await table.send('POST', search, order(region, code), headers);
          return [status, body.region];
        };
        expect(await send('eu', 'c')).toEqual([201, 'eu']);
        expect(await send('us', 'd')).toEqual([403, undefined]);
        expect(await send('eu', 'e', '', { 'idempotency-key': crypto.randomUUID() })).toEqual([201, 'eu']);
        expect(await send('eu', 'f', '?dry_run=true')).toEqual([200, undefined]);
        expect(await send('us', 'f', '?dry_run=true')).toEqual([403, undefined]);
        const batch = (region: string, code: string) =>
          table.send('POST', '', lines([order(region, code), order('eu', `${code}2`)]), ndjson);
        expect([(await batch('eu', 'g')).status, (await batch('us', 'h')).status]).toEqual([201, 403]);
        expect((await table.list()).map(({ code }) => code).sort()).toEqual(['a', 'c', 'e', 'g', 'g2']);
      }
    });

    test('a change to values that its filter excludes is refused, also where columns are masked', async () => {
      const masks = [
        { column: 'email', kind: 'email' },
        { column: 'total', kind: 'round', args: { to: 10 } },
      ];
      for (const row_filter of filters)
        for (const more of [{}, { masks }, { columns: { mode: 'deny', names: ['total'] } }]) {
          const table = await orders({ row_filter, ...more });
          const statuses = async (id: string, values: object) => {
            const calls = [`/${id}?dry_run=true`, `/${id}`, `?id=eq.${id}`];
            return Promise.all(
              calls.map(async (path) => {
                const { status, body } = await table.send('PATCH', path, values);
                return [status, body.updated].filter((each) => each !== undefined);
              }),
            );
          };
          expect(await statuses(table.eu.id, { region: 'us' })).toEqual([[403], [403], [403]]);
          expect(await statuses(table.us.id, { region: 'eu' })).toEqual([[404], [404], [200, 0]]);
          const changed = await table.send('PATCH', `/${table.eu.id}`, { code: 'z' });
          expect([changed.status, changed.body.code]).toEqual([200, 'z']);
          if ('masks' in more) expect(changed.body).toMatchObject({ email: 'a•••@example.com', total: 10 });
          expect((await table.send('DELETE', `/${table.us.id}`)).status).toBe(404);
          expect((await table.send('DELETE', `/${table.eu.id}`)).status).toBe(204);
        }
    });
  });
});
