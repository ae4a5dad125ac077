import type { Plan, PlanChange } from '@svc/contract/plan.ts';
import { cellText, type Style, sanitize, tint } from '../framework/text.ts';

export function renderPlan(plan: Plan, line: string, style: Style): string {
  if (plan.changes.length === 0) return `${renderChanges(plan, style)}Nothing to do.\n`;
  return [
    renderChanges(plan, style),
    `To execute exactly this plan, add --plan ${sanitize(plan.fingerprint)}\n`,
    'Nothing has changed. To execute:\n',
    `  ${line}\n`,
  ].join('');
}

export function renderChanges(plan: Plan, style: Style): string {
  const { kind, name, id } = plan.target;
  const target = [kind, name, id === name ? '' : id].filter((part) => part !== '').map(sanitize);
  const changes =
    plan.changes.length === 0 ? ['  no change\n'] : plan.changes.map((change) => changeLine(change, style));
  return [
    `${sanitize(plan.operation)}: ${target.join(' ')}\n`,
    ...changes,
    ...effectLines(plan),
    ...plan.warnings.map((warning) => `${tint(style, 'yellow', '!')} ${sanitize(warning)}\n`),
    ...(plan.irreversible ? [`${tint(style, 'yellow', '!')} This cannot be undone.\n`] : []),
  ].join('');
}

function effectLines({ effects = [], effects_left_off: leftOff = 0 }: Plan): string[] {
  if (effects.length === 0) return [];
  const more = leftOff > 0 ? [`  … and possibly ${leftOff} more\n`] : [];
  return ['Effects on grants:\n', ...effects.map(({ text }) => `  ${sanitize(text)}\n`), ...more];
}

function changeLine(change: PlanChange, style: Style): string {
  const path = sanitize(change.path);
  switch (change.effect) {
    case 'create':
      return `  ${tint(style, 'green', '+')} ${path}: ${valueText(change.after)}\n`;
    case 'delete':
      return `  ${tint(style, 'red', '-')} ${path}: ${valueText(change.before)}\n`;
    case 'update': {
      const arrow = style.unicode ? '→' : '->';
      return `  ${tint(style, 'yellow', '~')} ${path}: ${valueText(change.before)} ${arrow} ${valueText(change.after)}\n`;
    }
  }
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  const isAmbiguous = value === '' || value === 'null' || value === 'none';
  return typeof value === 'object' || isAmbiguous ? sanitize(JSON.stringify(value)) : cellText(value);
}

export function executeArgs(argv: readonly string[], more: readonly string[] = []): string[] {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  const after = end === -1 ? [] : argv.slice(end);
  const remaining = flags.filter(
    (token, index) => !/^--(?:dry-run|execute|plan)(?:=.*)?$/.test(token) && flags[index - 1] !== '--plan',
  );
  return [...remaining, '--execute', ...more, ...after];
}

export function executeLine(argv: readonly string[]): string {
  return commandLine(executeArgs(argv));
}

export function quote(argument: string): string {
  if (argument !== '' && /^[A-Za-z0-9_@%+=:,./-]+$/.test(argument) && !argument.startsWith('='))
    return argument;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

export function commandLine(args: readonly string[]): string {
  return ['svc', ...args.map(quote)].join(' ');
}
