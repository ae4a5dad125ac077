import { sanitize } from '@svc/cli/framework/text.ts';
import type { Config } from '../../config.ts';
import { migrate, migrationsDirectory } from '../../core/migrate.ts';
import { attachDatabase } from '../../drivers/database/database.ts';
import type { AdminCtx, Result } from '../command.ts';
import { rawDatabases, tableDefinitions } from '../doctor/app-databases.ts';
import {
  type Check,
  type DatabaseFacts,
  errorText,
  type Finding,
  ok,
  problem,
  warning,
} from '../doctor/check.ts';
import {
  auditChains,
  keys,
  migrations,
  openTables,
  outbox,
  rowsRole,
  tenantAdmins,
  withCheckedDatabase,
} from '../doctor/database.ts';
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
} from '../doctor/machine.ts';
import {
  certificates,
  gitHost,
  mail,
  objectStore,
  openidProvider,
  otherServers,
} from '../doctor/services.ts';
import { withDatabase } from '../system.ts';

type NamedFinding = Finding & { name: string };

async function runChecks(ctx: AdminCtx): Promise<NamedFinding[]> {
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
  tenantAdmins,
  openTables,
  tableDefinitions,
];

export async function runDoctor(ctx: AdminCtx): Promise<Result> {
  const findings = await runChecks(ctx);
  const problems = findings.filter((finding) => finding.status === 'problem').length;
  const warnings = findings.filter((finding) => finding.status === 'warning').length;
  const checks = findings.map(({ name, status, detail, hint }) => ({ name, status, detail, hint }));
  return {
    json: { ok: problems === 0, checks },
    text: `${checks.map(findingText).join('')}${countText(problems, 'problem')}, ${countText(warnings, 'warning')}.\n`,
    exit: problems === 0 ? 0 : 1,
  };
}

function findingText({ name, status, detail, hint }: NamedFinding): string {
  const start = `${status.padEnd(8)} ${name.padEnd(17)} `;
  const next = hint === '' ? '' : `${' '.repeat(start.length)}→ ${sanitize(hint)}\n`;
  return `${start}${sanitize(detail)}\n${next}`;
}

export async function runMigrate(ctx: AdminCtx): Promise<Result> {
  const { applied } = await withDatabase(ctx, attachDatabase, (database) =>
    migrate({ url: database.controlUrl, directory: migrationsDirectory, log: ctx.note }),
  );
  const text = applied.length === 0 ? 'No pending migrations.' : `Applied ${applied.length} migrations.`;
  return { json: { applied }, text: `${text}\n` };
}

const countText = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
