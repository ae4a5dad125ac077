import type { Config } from '../../config.ts';
import type { AdminCtx } from '../command.ts';
import { type Check, type DatabaseFacts, errorText, type Finding, ok, problem, warning } from './check.ts';
import {
  auditChains,
  keys,
  migrations,
  openTables,
  outbox,
  rowsRole,
  withCheckedDatabase,
} from './database.ts';
import {
  address,
  appsDomain,
  clock,
  dataDir,
  gitSandbox,
  otherRuntime,
  runtime,
  server,
  serverUser,
  workers,
} from './machine.ts';
import { rawDatabases } from './raw-databases.ts';
import { certificates, gitHost, mail, objectStore, openidProvider, otherServers } from './services.ts';
import { tableDefinitions } from './tables.ts';

export type NamedFinding = Finding & { name: string };

export async function runChecks(ctx: AdminCtx): Promise<NamedFinding[]> {
  const { config, finding } = checkConfig(ctx);
  const found: NamedFinding[] = [{ name: 'configuration', ...finding }];
  for (const check of checks) {
    if (check.needs === 'config') found.push(await runOne(check, config, (known) => check.run(known)));
  }
  const databaseChecks = checks.filter((check) => check.needs === 'database');
  if (!config)
    return [...found, notChecked('database'), ...databaseChecks.map(({ name }) => notChecked(name))];
  await withCheckedDatabase(ctx, config, async (opened, facts) => {
    found.push({ name: 'database', ...opened });
    for (const check of databaseChecks) found.push(await runOne(check, facts, (known) => check.run(known)));
  });
  return found;
}

function checkConfig(ctx: AdminCtx): { config: Config | null; finding: Finding } {
  try {
    return { config: ctx.config(), finding: ok('The SVC_… variables are valid.') };
  } catch (error) {
    return {
      config: null,
      finding: problem(errorText(error), 'Fix the variable; the server does not start with it.'),
    };
  }
}

async function runOne<F extends Config | DatabaseFacts>(
  check: Check,
  facts: F | null,
  run: (facts: F) => Promise<Finding>,
): Promise<NamedFinding> {
  if (!facts) return notChecked(check.name);
  try {
    return { name: check.name, ...(await run(facts)) };
  } catch (error) {
    return { name: check.name, ...problem(`The check failed: ${errorText(error)}`, '') };
  }
}

function notChecked(name: string): NamedFinding {
  return { name, ...warning('Not checked, because of the problem above.', '') };
}

const checks: readonly Check[] = [
  dataDir,
  objectStore,
  address,
  appsDomain,
  server,
  openidProvider,
  certificates,
  mail,
  runtime,
  serverUser,
  gitSandbox,
  migrations,
  rowsRole,
  rawDatabases,
  otherRuntime,
  gitHost,
  otherServers,
  clock,
  workers,
  keys,
  auditChains,
  outbox,
  openTables,
  tableDefinitions,
];
