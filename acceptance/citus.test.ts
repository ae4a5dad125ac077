import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { queryUrl } from './support/database.ts';
import { rowsWorld } from './support/rows.ts';

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
});
