import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

const iterations = 4096;

/**
 * What PostgreSQL keeps of a password (RFC 5803). Sent in place of the password itself, which thereby can't end up
 * in a statement log. Only for passwords of plain ASCII: no SASLprep is done.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** 192 bits, in characters that need no escaping in a URL or in SQL. */
export function newPassword(): string {
  return randomBytes(24).toString('base64url');
}
