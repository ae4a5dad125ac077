import { envVariablesMax } from '@svc/contract/deployments.ts';
import type { AppAccess } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import type { Environment } from './store.ts';

export interface EnvChangeInput {
  set: Readonly<Record<string, string>>;
  unset: readonly string[];
}

type EnvChanges = ReturnType<typeof diffEnv>;

export function diffEnv(current: ReadonlyMap<string, string>, { set, unset }: EnvChangeInput) {
  const names = Object.keys(set).sort();
  return {
    added: names.filter((name) => !current.has(name)),
    changed: names.filter((name) => current.has(name) && current.get(name) !== set[name]),
    removed: [...new Set(unset)].filter((name) => current.has(name)).sort(),
  };
}

export function checkVariableLimit(current: ReadonlyMap<string, string>, { added, removed }: EnvChanges) {
  if (added.length === 0 || current.size + added.length - removed.length <= envVariablesMax) return;
  throw fail('limit_reached', { detail: `An app may have at most ${envVariablesMax} variables.` });
}

/** For plan and audit log: names only, never a value or its hash. */
export function auditChanges({ added, changed, removed }: EnvChanges, environment: Environment) {
  const prefix = environment === 'production' ? '' : `${environment} `;
  const each = (names: readonly string[], word: string | null) =>
    names.map((name) => [`${prefix}${name}`, word] as const);
  return {
    before: Object.fromEntries([...each(added, null), ...each(changed, 'set'), ...each(removed, 'set')]),
    after: Object.fromEntries([...each(added, 'set'), ...each(changed, 'changed'), ...each(removed, null)]),
  };
}

export function requireActiveApp({ record }: Pick<AppAccess, 'record'>): void {
  if (record !== 'active')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
}
