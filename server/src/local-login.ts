import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
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

export function closeLocalLogin(config: Config): void {
  rmSync(join(config.dataDir, localLoginFile), { force: true });
}
