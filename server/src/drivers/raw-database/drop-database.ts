import { type Client, escapeIdentifier as ident } from 'pg';
import { closeDatabase } from './close-database.ts';

/** Database and role with all they have; what is gone already is no error. */
export async function dropDatabase(admin: Client, name: string): Promise<void> {
  await closeDatabase(admin, name);
  await admin.query(`drop database if exists ${ident(name)} with (force)`);
  await admin.query(`drop role if exists ${ident(name)}`);
}
