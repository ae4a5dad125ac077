import { describe, expect, test } from 'bun:test';
import { query } from '../../../drivers/database/testing.ts';
import { inDatabase } from '../../../drivers/raw-database/server.ts';
import { dump, embedded, newApp, restore } from './testing.ts';

describe('a raw database', () => {
  test('without a schema public, and one that is empty, stay so', async () => {
    const server = await embedded();
    const app = await newApp(server, 'drop schema public');
    const { entries } = await dump(server, app.name);
    await restore(server, app.name, entries);
    const rows = await query(
      inDatabase(server.url, app.name),
      `select nspname from pg_namespace where nspname !~ '^pg_|^information'`,
    );
    expect(rows).toEqual([]);
  });

  test('with definitions that are not kept says so, and the rest is restored', async () => {
    const server = await embedded();
    const app = await newApp(
      server,
      'create table pets (id int); insert into pets values (1); create publication changes for table pets',
    );
    const { entries, manifest } = await dump(server, app.name);
    expect(manifest.left_out).toEqual([`publication changes in the database ${app.name} of app shop`]);
    await restore(server, app.name, entries);
    expect(await query(inDatabase(server.url, app.name), 'select id from pets')).toEqual([{ id: 1 }]);
  });

  test('whose code tries to use the rights of the platform gets none during a restore', async () => {
    const server = await embedded();
    const app = await newApp(
      server,
      `create function take() returns boolean language plpgsql as $$
       begin
         execute 'reset role';
         if (select rolcreaterole or rolcreatedb or rolsuper from pg_roles where rolname = current_user) then
           raise exception 'has the rights of %', current_user;
         end if;
         return true;
       end $$;
       create table t (id int);
       insert into t values (1);
       alter table t add constraint checked check (take())`,
    );
    const { entries } = await dump(server, app.name);
    await restore(server, app.name, entries);
  });
});
