import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { type Call, done } from './support/people.ts';
import { rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);
const ada = useFixture(async () => {
  const visitor = await world.visitor();
  return { ...visitor, send: visitor.of({ path: world.data }) };
});
const asOwner: Call = (method, path, ...rest) => world.owner.call(method, `${world.data}${path}`, ...rest);

async function shop(): Promise<{ orders: TestTable; lines: TestTable }> {
  const orders = await world.table(['customer:text', 'total:int:nullable']);
  await done(orders.shape('POST', '/indexes', { columns: ['customer'], unique: true }));
  const lines = await world.table(['order:uuid', 'item:text', 'n:bigint']);
  return { orders, lines };
}

const send = (operations: readonly object[], search = '', headers?: Record<string, string>) =>
  asOwner('POST', `/_batch${search}`, { operations }, headers);

describe('a batch', () => {
  test('inserts, updates, upserts and deletes over tables, with references to earlier rows', async () => {
    const { orders, lines } = await shop();
    const [old] = await orders.insert({ customer: 'old' });
    const { status, body } = await send([
      { op: 'insert', table: orders.name, as: 'order', values: { customer: 'Ada' } },
      {
        op: 'insert',
        table: lines.name,
        as: 'line',
        values: { order: { $ref: 'order.id' }, item: 'soup', n: 2 },
      },
      { op: 'update', table: orders.name, id: { $ref: 'order.id' }, values: { total: 7 } },
      { op: 'upsert', table: orders.name, on_conflict: 'customer', values: { customer: 'old', total: 1 } },
      {
        op: 'upsert',
        table: orders.name,
        on_conflict: 'customer',
        resolution: 'ignore',
        values: { customer: 'old', total: 9 },
      },
      { op: 'delete', table: lines.name, id: { $ref: 'line.id' } },
      { op: 'insert', table: lines.name, values: { order: old.id, item: 'cake', n: 1 } },
    ]);
    expect(status).toBe(200);
    expect(body.results.map((result: { status: number }) => result.status)).toEqual([
      201, 201, 200, 200, 200, 204, 201,
    ]);
    const [order, line, updated] = body.results;
    expect(line.row.order).toBe(order.id);
    expect(updated.row).toMatchObject({ id: order.id, customer: 'Ada', total: 7 });
    const read = await orders.send('GET', `/${order.id}`);
    expect(read.headers.get('etag')).toBe(updated.etag);
    expect((await orders.list('?sort=customer')).map(({ total }) => total)).toEqual([7, 1]);
    expect((await lines.list()).map(({ item }) => item)).toEqual(['cake']);
  });

  test('does not say that it followed a preference that only single inserts have', async () => {
    const { orders } = await shop();
    const operations = [{ op: 'insert', table: orders.name, values: { customer: 'Ada' } }];
    const { status, headers } = await send(operations, '', { prefer: 'resolution=merge-duplicates' });
    expect([status, headers.get('preference-applied')]).toEqual([200, null]);
  });

  test('does nothing if one operation fails, and names it', async () => {
    const { orders, lines } = await shop();
    const insert = { op: 'insert', table: orders.name, as: 'order', values: { customer: 'Ada' } };
    const cases: [operation: object, code: string][] = [
      [{ op: 'insert', table: orders.name, values: { customer: 'Ada' } }, 'unique_violation'],
      [{ op: 'insert', table: lines.name, values: { item: 'x' } }, 'validation_failed'],
      [{ op: 'insert', table: lines.name, values: { colour: 'x' } }, 'unknown_column'],
      [{ op: 'update', table: orders.name, id: crypto.randomUUID(), values: { total: 1 } }, 'not_found'],
      [
        { op: 'delete', table: orders.name, id: { $ref: 'order.id' }, if_match: '1.1' },
        'precondition_failed',
      ],
      [{ op: 'insert', table: 'nothing', values: {} }, 'not_found'],
      [{ op: 'insert', table: lines.name, values: { order: { $ref: 'later.id' } } }, 'validation_failed'],
      [{ op: 'insert', table: lines.name, values: { order: { $ref: 'order.colour' } } }, 'validation_failed'],
      [{ op: 'merge', table: lines.name, values: {} }, 'validation_failed'],
      [{ op: 'delete', table: lines.name }, 'validation_failed'],
      [{ op: 'delete', table: lines.name, id: 'x', values: {} }, 'validation_failed'],
      [{ op: 'insert', table: lines.name, as: 'order', values: {} }, 'validation_failed'],
    ];
    for (const [operation, code] of cases) {
      for (const search of ['', '?dry_run=true']) {
        const { body } = await send([insert, operation], search);
        expect([JSON.stringify(operation), body.code, body.errors?.[0]?.operation]).toEqual([
          JSON.stringify(operation),
          code,
          1,
        ]);
        expect(body.detail).toStartWith('Operation 1:');
      }
    }
    expect([await orders.list(), await lines.list()]).toEqual([[], []]);
  });

  test('has 1 to 100 operations, as one JSON object sent by POST', async () => {
    const { orders } = await shop();
    const insert = { op: 'insert', table: orders.name, values: { customer: 'x' } };
    const bodies: unknown[] = [{}, { operations: [] }, { operations: {} }, { operations: [1] }, [], 7];
    bodies.push(
      { operations: [insert], other: 1 },
      { operations: Array.from({ length: 101 }, () => insert) },
    );
    for (const body of bodies) {
      const answer = await asOwner('POST', '/_batch', JSON.stringify(body));
      expect([JSON.stringify(body).slice(0, 40), answer.status]).toEqual([
        JSON.stringify(body).slice(0, 40),
        400,
      ]);
    }
    expect((await asOwner('POST', '/_batch', '{"operations":[')).body.code).toBe('malformed_json');
    expect((await asOwner('GET', '/_batch')).status).toBe(405);
    const lines = { 'content-type': 'application/x-ndjson' };
    expect((await asOwner('POST', '/_batch', '{}', lines)).status).toBe(415);
    const many = Array.from({ length: 100 }, (_, at) => ({ ...insert, values: { customer: `c${at}` } }));
    expect((await send(many)).body.results).toHaveLength(100);
    expect(await orders.list('?per_page=200')).toHaveLength(100);
  });

  test('is done once for one Idempotency-Key, and returns no rows with return=minimal', async () => {
    const { orders } = await shop();
    const key = { 'idempotency-key': crypto.randomUUID(), prefer: 'return=minimal' };
    const operations = [{ op: 'insert', table: orders.name, values: { customer: 'Ada' } }];
    const first = await send(operations, '', key);
    expect(first.body.results).toEqual([
      { op: 'insert', status: 201, id: expect.any(String), etag: expect.any(String) },
    ]);
    expect((await send(operations, '', key)).text).toBe(first.text);
    expect((await send([...operations, ...operations], '', key)).body.code).toBe('idempotency_mismatch');
    expect(await orders.list()).toHaveLength(1);
  });

  test('keeps every digit of numbers, also through references', async () => {
    const { lines } = await shop();
    const digits = '9007199254740993';
    const order = crypto.randomUUID();
    const body = `{"operations":[
      {"op":"insert","table":"${lines.name}","as":"a","values":{"order":"${order}","item":"x","n":${digits}}},
      {"op":"insert","table":"${lines.name}","values":{"order":{"$ref":"a.order"},"item":"y","n":{"$ref":"a.n"}}}]}`;
    expect((await asOwner('POST', '/_batch', body)).status).toBe(200);
    expect((await lines.list()).map(({ n }) => String(n))).toEqual([digits, digits]);
  });

  test('stores an object with $ref that is no reference in a jsonb column', async () => {
    const schemas = await world.table(['schema:jsonb']);
    const schema = { $ref: '#/definitions/address' };
    const { body } = await send([{ op: 'insert', table: schemas.name, values: { schema } }]);
    expect(body.results[0].row.schema).toEqual(schema);
  });

  test('can be previewed, and If-Plan refuses it when something has changed', async () => {
    const { orders, lines } = await shop();
    const [old] = await orders.insert({ customer: 'old', total: 1 });
    const operations = [
      { op: 'insert', table: orders.name, as: 'order', values: { customer: 'Ada' } },
      { op: 'insert', table: lines.name, values: { order: { $ref: 'order.id' }, item: 'soup', n: 2 } },
      { op: 'delete', table: orders.name, id: old.id },
    ];
    const preview = async () => (await send(operations, '?dry_run=true')).body.plan;
    const plan = await preview();
    expect([plan.operation, plan.irreversible]).toEqual(['rows.batch', true]);
    expect(plan.changes).toContainEqual({
      path: `[1] insert ${lines.name}.order`,
      before: null,
      after: '$ref order.id',
      effect: 'create',
    });
    expect((await preview()).fingerprint).toBe(plan.fingerprint);
    expect(await lines.list()).toEqual([]);
    await orders.send('PATCH', `/${old.id}`, { total: 2 });
    const execute = async (fingerprint: string) =>
      (await send(operations, '', { 'if-plan': fingerprint })).status;
    expect(await execute(plan.fingerprint)).toBe(409);
    expect(await execute((await preview()).fingerprint)).toBe(200);
    expect([(await orders.list()).length, (await lines.list()).length]).toEqual([1, 1]);
  });
});

describe('rights in a batch', () => {
  test('are those of each operation alone', async () => {
    const orders = await world.table(['by:uuid', 'dish:text'], { owner_column: 'by' });
    const menu = await world.table(['dish:text'], { access: 'read-only' });
    const inbox = await world.table(['text:text'], { access: 'insert-only' });
    const hidden = await world.table(['a:int'], { access: 'closed' });
    const replies = await world.table(['to:uuid'], { access: 'read-write' });
    const [others] = await orders.insert({ by: world.owner.id, dish: 'cake' });
    const mine = { op: 'insert', table: orders.name, as: 'mine', values: { dish: 'soup' } };
    const call = (...operations: object[]) => ada.send('POST', '/_batch', { operations });
    const refused: [operation: object, code: string][] = [
      [{ op: 'update', table: orders.name, id: others.id, values: { dish: 'x' } }, 'not_found'],
      [{ op: 'delete', table: orders.name, id: others.id }, 'not_found'],
      [{ op: 'insert', table: orders.name, values: { by: world.owner.id, dish: 'x' } }, 'validation_failed'],
      [{ op: 'upsert', table: orders.name, values: { id: others.id, dish: 'x' } }, 'unique_violation'],
      [{ op: 'insert', table: menu.name, values: { dish: 'x' } }, 'forbidden'],
      [{ op: 'insert', table: hidden.name, values: { a: 1 } }, 'not_found'],
    ];
    for (const [operation, code] of refused) {
      const { body } = await call(mine, operation);
      expect([code, body.code, body.errors[0].operation]).toEqual([code, code, 1]);
    }
    expect(await orders.list()).toHaveLength(1);
    const { body } = await call(
      mine,
      { op: 'update', table: orders.name, id: { $ref: 'mine.id' }, values: { dish: 'tea' } },
      { op: 'insert', table: inbox.name, as: 'letter', values: { text: 'hello' } },
      { op: 'insert', table: replies.name, values: { to: { $ref: 'letter.id' } } },
    );
    expect(body.results.map(({ status }: { status: number }) => status)).toEqual([201, 200, 201, 201]);
    expect(body.results[2].row).toBeUndefined();
    expect(body.results[3].row.to).toBe(body.results[2].id);
    expect(body.results[1].row).toMatchObject({ by: ada.id, dish: 'tea' });
    const peek = await call(
      { op: 'insert', table: inbox.name, as: 'letter', values: { text: 'hello' } },
      { op: 'insert', table: orders.name, values: { dish: { $ref: 'letter.text' } } },
    );
    expect([peek.status, await inbox.list()]).toEqual([400, [expect.objectContaining({ text: 'hello' })]]);
  });

  test('an outsider learns nothing', async () => {
    const table = await world.table(['a:int']);
    const stranger = (await rowsWorld()).owner;
    const operations = [{ op: 'insert', table: table.name, values: { a: 1 } }];
    const there = await stranger.call('POST', `${world.data}/_batch`, { operations });
    const nowhere = await stranger.call('POST', '/data/nobody/nothing/_batch', { operations });
    const { request_id: one, ...first } = there.body;
    const { request_id: other, ...second } = nowhere.body;
    expect([there.status, first, one === other]).toEqual([404, second, false]);
  });
});
