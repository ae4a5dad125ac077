import type { Plan, PlanChange } from '@svc/contract/plan.ts';
import type { Style } from './command.ts';
import { cell, plain, tint } from './output.ts';
import { commandLine } from './quote.ts';

/** What would change, then how to make it so. */
export function renderPlan(plan: Plan, line: string, style: Style): string {
  if (plan.changes.length === 0) return `${renderChanges(plan, style)}There is nothing to do.\n`;
  return [
    renderChanges(plan, style),
    `To refuse when something else has changed in between, add --plan ${plain(plan.fingerprint)}\n`,
    'Nothing was changed. To execute:\n',
    `  ${line}\n`,
  ].join('');
}

export function renderChanges(plan: Plan, style: Style): string {
  const { kind, name, id } = plan.target;
  const target = [kind, name, id === name ? '' : id].filter((part) => part !== '').map(plain);
  const changes =
    plan.changes.length === 0 ? ['  no change\n'] : plan.changes.map((change) => changeLine(change, style));
  return [
    `${plain(plan.operation)}: ${target.join(' ')}\n`,
    ...changes,
    ...plan.warnings.map((warning) => `${tint(style, 'yellow', '!')} ${plain(warning)}\n`),
    ...(plan.irreversible ? [`${tint(style, 'yellow', '!')} This can not be undone.\n`] : []),
  ].join('');
}

function changeLine(change: PlanChange, style: Style): string {
  const path = plain(change.path);
  switch (change.effect) {
    case 'create':
      return `  ${tint(style, 'green', '+')} ${path}: ${value(change.after)}\n`;
    case 'delete':
      return `  ${tint(style, 'red', '-')} ${path}: ${value(change.before)}\n`;
    case 'update': {
      const arrow = style.unicode ? '→' : '->';
      return `  ${tint(style, 'yellow', '~')} ${path}: ${value(change.before)} ${arrow} ${value(change.after)}\n`;
    }
  }
}

/** JSON where it tells more: an empty text, a list, a number that is one. */
function value(given: unknown): string {
  if (given === undefined || given === null) return 'none';
  // A text that reads like the absence of a value is told apart from it.
  const isOdd = given === '' || given === 'null' || given === 'none';
  return typeof given === 'object' || isOdd ? plain(JSON.stringify(given)) : cell(given);
}

/** The line as typed, with `--execute` instead of any `--dry-run`, and without a `--plan` that may be stale. */
export function executeLine(argv: readonly string[], more: readonly string[] = []): string {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  const after = end === -1 ? [] : argv.slice(end);
  const kept = flags.filter(
    (token, index) => !/^--(?:dry-run|execute|plan)(?:=.*)?$/.test(token) && flags[index - 1] !== '--plan',
  );
  return commandLine([...kept, '--execute', ...more, ...after]);
}
