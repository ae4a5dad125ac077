import { type Client, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { withClient } from '../database/connect.ts';
import { scramVerifier } from '../database/passwords.ts';
import { findRole, joinRole } from './databases.ts';
import { rawUrl, readerName } from './raw-url.ts';

export interface ReaderSpec {
  name: string;
  /** Of the app's own role. */
  ownerPassword: string;
  ownerConnectionsMax: number;
  password: string;
}

export const readerConnectionsMax = 5;

/**
 * A login that reads all tables of the app and changes nothing, which no code of the app can lift: it owns nothing, belongs to
 * no role and may not create. `default_transaction_read_only` would be a setting that each connection can change.
 */
export async function openReader(admin: Client, { url }: { url: string }, spec: ReaderSpec): Promise<void> {
  const owner = ident(spec.name);
  const reader = ident(readerName(spec.name));
  if ((await findRole(admin, readerName(spec.name))) === 'none')
    await admin.query(`create role ${reader} nologin`);
  await joinRole(admin, reader);
  await admin.query(`grant connect on database ${owner} to ${reader}`);
  // The app may use all of its connections.
  await admin.query(`alter role ${owner} connection limit ${spec.ownerConnectionsMax + 1}`);
  try {
    const { name, ownerPassword } = spec;
    const asOwner = rawUrl(url, { user: name, password: ownerPassword, database: name });
    await withClient(asOwner, (client) => client.query(grantReading(readerName(name))));
  } finally {
    await admin.query(`alter role ${owner} connection limit ${spec.ownerConnectionsMax}`);
  }
  await admin.query(
    `alter role ${reader} login connection limit ${readerConnectionsMax} password ${literal(scramVerifier(spec.password))}`,
  );
}

/** Runs as the app's own role: the platform never connects to a database that an app has used. */
const grantReading = (reader: string) => `do $grant$
declare it record;
begin
  alter default privileges grant usage on schemas to ${ident(reader)};
  alter default privileges grant select on tables to ${ident(reader)};
  alter default privileges grant select on sequences to ${ident(reader)};
  for it in select oid, nspname from pg_catalog.pg_namespace
    where nspowner = (select oid from pg_catalog.pg_roles where rolname = current_user)
      and not pg_catalog.has_schema_privilege(${literal(reader)}, oid, 'usage')
  loop
    execute pg_catalog.format('grant usage on schema %I to %I', it.nspname, ${literal(reader)});
  end loop;
  for it in select n.nspname, c.relname, c.relkind from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relowner = (select oid from pg_catalog.pg_roles where rolname = current_user)
      and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and not pg_catalog.has_table_privilege(${literal(reader)}, c.oid, 'select')
      and n.nspname !~ '^pg_'
  loop
    execute pg_catalog.format(
      'grant select on %s %I.%I to %I',
      case it.relkind when 'S' then 'sequence' else 'table' end, it.nspname, it.relname, ${literal(reader)});
  end loop;
end $grant$`;
