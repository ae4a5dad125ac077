import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { svcAs } from './support/commands.ts';
import { newApp } from './support/people.ts';
import { temporaryFolder } from './support/server.ts';
import { newWorld } from './support/world.ts';

const world = useFixture(newWorld);
const svc = svcAs(() => [world.tenant, world.people.O]);

/** An app of the owner's with nothing in it, and the address of its tables. */
async function emptyApp() {
  const { slug } = await newApp(world.tenant, { owner: world.people.O, coOwner: world.people.C });
  return { slug, tables: `${world.tenant.base}/apps/${slug}/tables` };
}

describe('svc tables', () => {
  test('creates a table from a file and flags, changes its schema, shares it, and drops it', async () => {
    const { slug } = await emptyApp();
    const schema = join(temporaryFolder(), 'pets.json');
    writeFileSync(
      schema,
      JSON.stringify({ columns: ['name:text', { name: 'age', type: 'int', nullable: true }] }),
    );
    const on = async (...args: string[]) => {
      const ran = await svc(['tables', ...args, '--app', slug, '--json']);
      expect([args.join(' '), ran.code, ran.stderr]).toEqual([args.join(' '), 0, '']);
      // biome-ignore lint/suspicious/noExplicitAny: answers of all shapes.
      return ran.json<any>();
    };
    const flags = [
      '--column',
      "note:text:it's :: so",
      '--column',
      'keeper:uuid:nullable',
      '--owner-column',
      'keeper',
    ];
    const created = await on('create', 'pets', '--schema', schema, ...flags, '--execute');
    expect(created.columns.map(({ name }: { name: string }) => name)).toEqual([
      'id',
      'name',
      'age',
      'note',
      'keeper',
      'created_at',
      'updated_at',
    ]);
    expect(created).toMatchObject({ name: 'pets', owner_column: 'keeper' });

    await on('columns', 'add', 'pets', '--column', 'kind:text:cat', '--execute');
    await on('columns', 'rename', 'pets', 'kind', '--to', 'species', '--execute');
    const updated = await on(
      'columns',
      'update',
      'pets',
      'species',
      '--no-default',
      '--nullable',
      '--execute',
    );
    expect(updated.columns.at(-1)).toMatchObject({ name: 'species', nullable: true, default: null });
    const index = await on('indexes', 'add', 'pets', '--column', 'species,age', '--execute');
    expect((await on('indexes', 'list', 'pets')).items).toEqual([index]);
    await on('columns', 'drop', 'pets', 'age', '--execute');
    expect((await on('indexes', 'list', 'pets')).items).toEqual([]);

    const principal = ['--principal-type', 'user', '--principal-id', world.people.M.email];
    const grant = await on(
      'grants',
      'issue',
      '--table',
      'pets',
      ...principal,
      '--actions',
      'read,write',
      '--execute',
    );
    expect((await on('grants', 'list', '--table', 'pets')).items).toEqual([grant]);
    await on('rename', 'pets', '--to', 'animals', '--execute');
    await on('grants', 'revoke', '--table', 'animals', '--grant-id', grant.id, '--execute');
    const { id, created_at, updated_at, version, ...same } = await on('get', 'animals');
    expect((await on('list')).items).toMatchObject([{ id, version: 7 }]);

    // As it was printed, it makes the same table again.
    writeFileSync(schema, JSON.stringify(await on('get', 'animals')));
    await on('drop', 'animals', '--execute');
    const again = await on('create', 'animals', '--schema', schema, '--execute');
    const byName = (it: { columns: { name: string }[] }) =>
      it.columns.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(byName(again)).toEqual(byName(same));
  });

  test.each<[string, string[], number, string]>([
    ['a table that is there', ['create', 'there', '--execute'], 6, 'unique_violation'],
    ['a table that is not', ['drop', 'nowhere', '--execute'], 5, 'not_found'],
    ['a default that does not fit', ['create', 'a', '--column', 'x:int:y'], 7, 'validation_failed'],
    ['a name that is reserved', ['create', 'a', '--column', 'select:int'], 7, 'validation_failed'],
    ['a column that can not be read', ['create', 'a', '--column', 'x'], 2, 'usage'],
    ['a column twice', ['create', 'a', '--column', 'x:int', '--column', 'x:text'], 2, 'usage'],
    ['the id', ['columns', 'drop', 'there', 'id', '--execute'], 6, 'column_in_use'],
  ])('%s is refused by name', async (_, args, exit, code) => {
    const { slug, tables } = await emptyApp();
    await world.as.O('POST', tables, { name: 'there' });
    const ran = await svc(['tables', ...args, '--app', slug, '--json']);
    expect([ran.code, JSON.parse(ran.stderr).code]).toEqual([exit, code]);
  });
});

describe('tables over HTTP', () => {
  test('can be changed with a login only, whatever the scope of a token', async () => {
    const { tables } = await emptyApp();
    await world.as.O('POST', tables, { name: 'a', columns: ['x:int'] });
    const calls: [string, string, unknown?][] = [
      ['GET', tables],
      ['POST', tables, { name: 'b' }],
      ['POST', `${tables}/a/columns`, { name: 'y', type: 'int' }],
      ['DELETE', `${tables}/a/columns/x`],
      ['GET', `${tables}/a/grants`],
      ['DELETE', `${tables}/a`],
    ];
    for (const [method, path, body] of calls) {
      const { status, body: problem } = await world.as.P(method, path, body);
      expect([path, status, problem.code]).toEqual([path, 403, 'login_required']);
    }
  });

  test('a column is also accepted in the syntax of the command line', async () => {
    const { tables } = await emptyApp();
    await world.as.O('POST', tables, { name: 'a' });
    const { server } = world.tenant;
    const added = await fetch(`${server.baseUrl}${tables}/a/columns`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.people.O.token}`, 'content-type': 'application/json' },
      body: JSON.stringify('at:timestamptz:nullable:2026-01-31T00:00:00Z'),
    });
    const { columns } = (await added.json()) as { columns: unknown[] };
    expect([added.status, columns.at(-1)]).toMatchObject([
      201,
      { name: 'at', default: '2026-01-31T00:00:00Z' },
    ]);
  });

  test('a change sent twice with one key is executed once', async () => {
    const { tables } = await emptyApp();
    const { server } = world.tenant;
    const send = () =>
      fetch(`${server.baseUrl}${tables}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${world.people.O.token}`,
          'content-type': 'application/json',
          'idempotency-key': 'once',
        },
        body: JSON.stringify({ name: 'a' }),
      });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(await second.json()).toEqual(await first.json());
    expect((await world.as.O('GET', tables)).body.total).toBe(1);
  });
});
