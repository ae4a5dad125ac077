import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localLoginFile } from '@svc/contract/identity.ts';
import type { Config } from './config.ts';

/** Who can read this file is on the machine and is the user who runs the server: that is the proof. */
export function openLocalLogin(config: Config): string {
  const secret = randomBytes(32).toString('base64url');
  const file = join(config.dataDir, localLoginFile);
  rmSync(file, { force: true });
  writeFileSync(file, `${JSON.stringify({ base_url: config.baseUrl, secret })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  return secret;
}

/** Only one's own: on an outside database another server may share the folder, and have written the file since. */
export function closeLocalLogin(config: Config, secret: string | null): void {
  const file = join(config.dataDir, localLoginFile);
  if (secret === null || !existsSync(file) || !readFileSync(file, 'utf8').includes(secret)) return;
  rmSync(file, { force: true });
}
