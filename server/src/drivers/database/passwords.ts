import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from '../os/durable-file.ts';
import { DatabaseError } from './types.ts';

const Credentials = z.object({ superuser: z.string(), control: z.string(), rows: z.string() });
export type Credentials = z.output<typeof Credentials>;

/** The file is written before the cluster is created, so that no cluster exists without a known password. */
export function readOrCreateCredentials(dataDir: string): Credentials {
  const path = credentialsPath(dataDir);
  if (existsSync(path)) return readCredentials(dataDir);
  const credentials = { superuser: newPassword(), control: newPassword(), rows: newPassword() };
  writeDurably(path, `${JSON.stringify(credentials, null, 2)}\n`);
  return credentials;
}

export function readCredentials(dataDir: string): Credentials {
  const path = credentialsPath(dataDir);
  try {
    return Credentials.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw new DatabaseError(
      'credentials_lost',
      `${path}, which stores the passwords of the database in ${dataDir}, cannot be read. Restore it from a backup.`,
      { cause },
    );
  }
}

function credentialsPath(dataDir: string): string {
  return join(dataDir, 'postgres.json');
}

const iterations = 4096;

/**
 * Statements use this form (RFC 5803), so that no password reaches a statement log. ASCII only: SASLprep is
 * not applied.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

export function newPassword(): string {
  return randomBytes(24).toString('base64url');
}
