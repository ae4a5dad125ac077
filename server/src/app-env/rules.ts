import { envVariablesMax } from '@svc/contract/deployments.ts';
import type { AppAccess } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';

export interface EnvWish {
  set: Readonly<Record<string, string>>;
  unset: readonly string[];
}

export interface EnvChanges {
  /** Were not there. */
  added: string[];
  /** Had another value. */
  changed: string[];
  removed: string[];
}

/** A value that is there already is no change, and neither is to unset what is not there. */
export function changesOf(there: ReadonlyMap<string, string>, { set, unset }: EnvWish): EnvChanges {
  const names = Object.keys(set).sort();
  return {
    added: names.filter((name) => !there.has(name)),
    changed: names.filter((name) => there.has(name) && there.get(name) !== set[name]),
    removed: [...new Set(unset)].filter((name) => there.has(name)).sort(),
  };
}

export function refuseTooMany(there: ReadonlyMap<string, string>, { added, removed }: EnvChanges): void {
  if (added.length === 0 || there.size + added.length - removed.length <= envVariablesMax) return;
  throw fail('limit_reached', { detail: `An app may have at most ${envVariablesMax} variables.` });
}

/** What is told of it in a plan and in the audit: names, and what becomes of each. Never a value, nor a sum of one. */
export function auditedChanges({ added, changed, removed }: EnvChanges) {
  const each = (names: readonly string[], word: string | null) => names.map((name) => [name, word] as const);
  return {
    before: Object.fromEntries([...each(added, null), ...each(changed, 'set'), ...each(removed, 'set')]),
    after: Object.fromEntries([...each(added, 'set'), ...each(changed, 'changed'), ...each(removed, null)]),
  };
}

export function refuseArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record !== 'active')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
}
