import type { Config } from '../../config.ts';
import type { AdminCtx } from '../command.ts';
import { type Check, type DatabaseFacts, type Finding, messageOf, ok, problem, warning } from './check.ts';
import { checks } from './checks.ts';
import { withCheckedDatabase } from './database.ts';

export type NamedFinding = Finding & { name: string };

/** Every check, also after one that fails: what depends on it says that it was not checked. */
export async function runChecks(ctx: AdminCtx): Promise<NamedFinding[]> {
  const { config, finding } = checkConfig(ctx);
  const found: NamedFinding[] = [{ name: 'configuration', ...finding }];
  for (const check of checks) {
    if (check.needs === 'config') found.push(await runOne(check, config, (known) => check.run(known)));
  }
  const ofDatabase = checks.filter((check) => check.needs === 'database');
  if (!config) {
    return [...found, ...['database', ...ofDatabase.map((check) => check.name)].map(notChecked)];
  }
  await withCheckedDatabase(ctx, config, async (opened, facts) => {
    found.push({ name: 'database', ...opened });
    for (const check of ofDatabase) found.push(await runOne(check, facts, (known) => check.run(known)));
  });
  return found;
}

function checkConfig(ctx: AdminCtx): { config: Config | null; finding: Finding } {
  try {
    return { config: ctx.config(), finding: ok('The SVC_… variables can be read.') };
  } catch (error) {
    return {
      config: null,
      finding: problem(messageOf(error), 'Correct the variable; the server does not start with it.'),
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
    return { name: check.name, ...problem(`The check failed: ${messageOf(error)}`, '') };
  }
}

function notChecked(name: string): NamedFinding {
  return { name, ...warning('Not checked, because of the above.', '') };
}
