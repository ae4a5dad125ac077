import type * as shapes from './app-life.shapes.ts';
import { endpoint, who } from './endpoint.ts';

/** How long a deleted app can be restored before it is purged. */
export const deletedAppsKeptDays = 30;

const tenantWide = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const governed = {
  authority: { ...tenantWide, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
} as const;
/** What takes an app away, and back: a deleted one is still there for who may. */
const ended = {
  authority: { ...tenantWide, app: 'representative_or_admin', deletedApp: 'reached' },
  who: who('O:y C:n A:y M:n P:n N:n X:n'),
} as const;
const one = '/api/v1/tenants/{tenantID}/apps/{app}';

export const archiveApp = endpoint<typeof shapes.archiveApp>()({
  id: 'apps.archive',
  method: 'POST',
  path: `${one}/archive`,
  summary: 'Stop an app and put it away: its rows can be read, and nothing of it changes',
  kind: 'mutate',
  ...governed,
  status: 200,
  errors: ['not_found', 'deploy_in_progress'],
});

export const reactivateApp = endpoint<typeof shapes.reactivateApp>()({
  id: 'apps.reactivate',
  method: 'POST',
  path: `${one}/reactivate`,
  summary: 'Take an archived app into use again; it does not run until it is resumed',
  kind: 'mutate',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const suspendApp = endpoint<typeof shapes.suspendApp>()({
  id: 'apps.suspend',
  method: 'POST',
  path: `${one}/suspend`,
  summary: 'Stop a running app',
  kind: 'mutate',
  ...governed,
  status: 200,
  errors: ['not_found', 'nothing_deployed', 'invalid_state_transition', 'deploy_in_progress'],
});

export const resumeApp = endpoint<typeof shapes.resumeApp>()({
  id: 'apps.resume',
  method: 'POST',
  path: `${one}/resume`,
  summary: 'Run a suspended app again',
  kind: 'mutate',
  ...governed,
  status: 200,
  errors: [
    ...(['not_found', 'no_successful_deployment', 'invalid_state_transition'] as const),
    ...(['resource_tier_exceeded', 'runtime_unsupported'] as const),
  ],
});

export const deleteApp = endpoint<typeof shapes.deleteApp>()({
  id: 'apps.delete',
  method: 'DELETE',
  path: one,
  summary: `Delete an app; for ${deletedAppsKeptDays} days it can be restored`,
  kind: 'mutate',
  ...ended,
  status: 200,
  errors: ['not_found', 'deploy_in_progress'],
});

export const restoreApp = endpoint<typeof shapes.restoreApp>()({
  id: 'apps.restore',
  method: 'POST',
  path: `${one}/restore`,
  summary: 'Bring a deleted app back as it was, stopped',
  kind: 'mutate',
  ...ended,
  status: 200,
  errors: ['not_found'],
});

export const purgeApp = endpoint<typeof shapes.purgeApp>()({
  id: 'apps.purge',
  method: 'POST',
  path: `${one}/purge`,
  summary: 'Remove a deleted app and everything of it for good',
  kind: 'mutate',
  ...ended,
  status: 200,
  errors: ['not_found', 'not_deleted', 'table_busy'],
  irreversible: true,
});
