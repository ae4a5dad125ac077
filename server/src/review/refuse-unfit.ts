import type { HeldApp } from '../apps/hold-app.ts';
import { fail } from '../plumbing/problem.ts';

/** Only what is there for people can be shown to more of them. */
export function refuseUnfit({ record, runtime }: Pick<HeldApp, 'record' | 'runtime'>): void {
  if (record !== 'active')
    throw fail('app_not_active', { detail: `The app is ${record}; bring it back first.` });
  if (runtime === 'suspended') throw fail('app_suspended');
}
