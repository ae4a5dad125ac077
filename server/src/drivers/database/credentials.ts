import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from './database-error.ts';
import { writeDurably } from './durable-file.ts';
import { newPassword } from './scram.ts';

/** Passwords of the embedded cluster's three logins. */
export interface Credentials {
  superuser: string;
  control: string;
  rows: string;
}

const fields = ['superuser', 'control', 'rows'] as const;

/** Kept from before the cluster is made, so that there is never a cluster whose password nobody knows. */
export function keepCredentials(dataDir: string): Credentials {
  const path = credentialsPath(dataDir);
  if (existsSync(path)) return readCredentials(dataDir);
  const made = { superuser: newPassword(), control: newPassword(), rows: newPassword() };
  writeDurably(path, `${JSON.stringify(made, null, 2)}\n`);
  return made;
}

export function readCredentials(dataDir: string): Credentials {
  const path = credentialsPath(dataDir);
  try {
    const value: Record<string, unknown> = JSON.parse(readFileSync(path, 'utf8'));
    const [superuser, control, rows] = fields.map((field) => value[field]);
    if (typeof superuser === 'string' && typeof control === 'string' && typeof rows === 'string') {
      return { superuser, control, rows };
    }
    throw new Error(`It lacks one of ${fields.join(', ')}.`);
  } catch (cause) {
    throw new DatabaseError(
      'credentials_lost',
      `${path} holds the passwords of the database in ${dataDir} and can't be read. Restore it from a backup.`,
      { cause },
    );
  }
}

function credentialsPath(dataDir: string): string {
  return join(dataDir, 'postgres.json');
}
