import type * as shapes from './app-life.shapes.ts';
import { act, member, ownersOrAdmin, remove, who } from './endpoint.ts';

export const deletedAppRetentionDays = 30;

/** These endpoints still find a deleted app, for callers who may restore or purge it. */
const ended = {
  authority: { ...member, app: 'representative_or_admin', deletedApp: 'reached' },
  who: who('O:y C:n A:y M:n P:n N:n X:n'),
} as const;
const one = '/api/v1/tenants/{tenantID}/apps/{app}';

export const archiveApp = act<typeof shapes.archiveApp>()({
  id: 'apps.archive',
  path: `${one}/archive`,
  summary: 'Archive an app: it is stopped, and its data is read-only',
  ...ownersOrAdmin,
  errors: ['deploy_in_progress'],
  irreversible: 'sometimes',
});

export const reactivateApp = act<typeof shapes.reactivateApp>()({
  id: 'apps.reactivate',
  path: `${one}/reactivate`,
  summary: 'Reactivate an archived app; it stays stopped until it is resumed',
  ...ownersOrAdmin,
});

export const suspendApp = act<typeof shapes.suspendApp>()({
  id: 'apps.suspend',
  path: `${one}/suspend`,
  summary: 'Stop a running app',
  ...ownersOrAdmin,
  errors: ['nothing_deployed', 'invalid_state_transition', 'deploy_in_progress'],
  irreversible: 'sometimes',
});

export const resumeApp = act<typeof shapes.resumeApp>()({
  id: 'apps.resume',
  path: `${one}/resume`,
  summary: 'Resume a suspended app',
  ...ownersOrAdmin,
  errors: [
    'no_successful_deployment',
    'invalid_state_transition',
    'resource_tier_exceeded',
    'runtime_unsupported',
  ],
});

export const deleteApp = remove<typeof shapes.deleteApp>()({
  id: 'apps.delete',
  path: one,
  summary: `Delete an app; for ${deletedAppRetentionDays} days it can be restored`,
  ...ended,
  status: 200,
  errors: ['deploy_in_progress'],
  irreversible: 'sometimes',
});

export const restoreApp = act<typeof shapes.restoreApp>()({
  id: 'apps.restore',
  path: `${one}/restore`,
  summary: 'Restore a deleted app; it stays stopped until it is resumed',
  ...ended,
});

export const purgeApp = act<typeof shapes.purgeApp>()({
  id: 'apps.purge',
  path: `${one}/purge`,
  summary: 'Permanently remove a deleted app and all of its data',
  ...ended,
  errors: ['not_deleted', 'table_busy'],
  irreversible: true,
});
