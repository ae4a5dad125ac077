import { type Client, escapeIdentifier as ident } from 'pg';
import { sqlState } from '../../plumbing/database-errors.ts';
import { closeDatabase } from './close-database.ts';

const triesMax = 20;
const pauseMs = 100;

/** Database and role with all they have; what is gone already is no error. */
export async function dropDatabase(admin: Client, name: string): Promise<void> {
  await closeDatabase(admin, name);
  for (let tries = 1; ; tries++) {
    try {
      await admin.query(`drop database if exists ${ident(name)} with (force)`);
      break;
    } catch (error) {
      // PostgreSQL's own housekeeping may be in it just now: it is not ours to end, and soon over.
      if (sqlState(error) !== '42501' || tries === triesMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  await admin.query(`drop role if exists ${ident(name)}`);
}
