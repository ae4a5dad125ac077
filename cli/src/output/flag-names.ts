import type { Declaration } from '../framework/declaration.ts';
import { commandFlags } from '../framework/flags.ts';
import type { Report } from '../framework/report.ts';

/** Fields that no flag is named after. */
const otherNames: Readonly<Record<string, string>> = {
  duration_seconds: 'expires-in',
  max_duration_seconds: 'max-duration',
  resource_preset: 'resource-tier',
  version: 'release-version',
};

/** The argument that a field of the request was made from, as it is typed. */
export function argumentFor(command: Declaration, field: string): string | undefined {
  const name = field.replace(/[.[].*$/s, '');
  const dashed = name.replaceAll('_', '-');
  const flags = commandFlags(command);
  const candidates = [dashed, otherNames[name], dashed.replace(/-ids?$/, ''), `${dashed}-id`];
  for (const candidate of candidates) {
    if (candidate === undefined) continue;
    if (Object.hasOwn(flags, candidate)) return `--${candidate}`;
    if (command.positionals?.some((positional) => positional.name === candidate)) return `<${candidate}>`;
  }
  return undefined;
}

/** A person typed flags, and does not know the fields of the request. */
export function nameFlags(problem: Report['problem'], command: Declaration): Report['problem'] {
  let { detail } = problem;
  const errors = problem.errors?.map((item) => {
    const flag = item.field === undefined ? undefined : argumentFor(command, item.field);
    if (flag === undefined || item.field === undefined) return item;
    const named = new RegExp(
      `(?<![\\w-])${item.field.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`,
      'g',
    );
    // A field of one plain word may be a word of the sentence too; as the subject it comes first.
    detail = item.field.includes('_')
      ? detail?.replaceAll(named, flag)
      : detail?.replace(new RegExp(`^${named.source}`), flag);
    return { ...item, flag };
  });
  return { ...problem, ...(detail !== undefined && { detail }), ...(errors && { errors }) };
}
