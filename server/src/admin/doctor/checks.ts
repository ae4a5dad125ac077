import { address } from './address.ts';
import { auditChains } from './audit-chains.ts';
import { certificates } from './certificates.ts';
import type { Check } from './check.ts';
import { clock } from './clock.ts';
import { dataDir } from './data-dir.ts';
import { gitHost } from './git-host.ts';
import { mail } from './mail.ts';
import { migrations } from './migrations.ts';
import { objectStore } from './object-store.ts';
import { openidProvider } from './openid-provider.ts';
import { otherRuntime } from './other-runtime.ts';
import { outbox } from './outbox.ts';
import { rawDatabases } from './raw-databases.ts';
import { rowsRole } from './rows-role.ts';
import { runtime } from './runtime.ts';
import { server } from './server.ts';

/** In the order in which they are shown. Configuration and database come before: the others need them. */
export const checks: readonly Check[] = [
  dataDir,
  objectStore,
  address,
  server,
  openidProvider,
  certificates,
  mail,
  runtime,
  migrations,
  rowsRole,
  rawDatabases,
  otherRuntime,
  gitHost,
  clock,
  auditChains,
  outbox,
];
