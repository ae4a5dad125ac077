import type { AppView } from './use-app.ts';

/** Why nothing of the app can be changed, with what brings it back; null while it is active. */
export function whyNotActive({ record }: { record: string }): string | null {
  if (record === 'archived') return 'The app is archived; reactivate it first.';
  if (record === 'deleted') return 'The app is deleted; restore it first.';
  return null;
}

/** The same for what needs an app that may run: a suspended one counts as well. */
export function whyNotInUse(app: Pick<AppView, 'record' | 'runtime'>): string | null {
  return whyNotActive(app) ?? (app.runtime === 'suspended' ? 'The app is suspended; resume it first.' : null);
}
