import type * as shapes from './bootstrap.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const bootstrapStates = ['awaiting_approval', 'running', 'done', 'failed', 'canceled'] as const;
export const bootstrapEndStates = ['done', 'failed', 'canceled'] as const;
export const bootstrapKinds = ['bootstrap', 'fork'] as const;
/** In this order; each is done once, however often it is begun. */
export const bootstrapSteps = [
  ...['authorize', 'reserve_app', 'create_repo', 'seed_repo', 'connect', 'first_deploy'],
] as const;
export const bootstrapStepStates = ['waiting', 'running', 'done', 'failed'] as const;
export const bootstrapFailureCodes = [
  ...['device_code_expired', 'access_denied', 'slug_taken', 'subdomain_taken', 'resource_tier_exceeded'],
  ...['repo_exists', 'installation_missing', 'forbidden_by_org', 'push_rejected', 'hook_failed'],
  ...['template_unavailable', 'app_not_active', 'build_failed', 'health_check_failed', 'deploy_failed'],
  ...['git_host_unavailable', 'not_permitted', 'internal'],
] as const;
/** A run that nobody approves is given up. */
export const approvalMinutesMax = 60;

const member = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const runs = '/api/v1/tenants/{tenantID}/bootstraps';

export const startBootstrap = endpoint<typeof shapes.startBootstrap>()({
  id: 'bootstraps.start',
  method: 'POST',
  path: runs,
  summary: 'Make an app from a template: its record, its repository, its first deployment',
  kind: 'mutate',
  authority: member,
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 201,
  errors: [
    ...(['not_found', 'slug_taken', 'subdomain_taken', 'resource_tier_exceeded'] as const),
    ...(['installation_missing', 'installation_mismatch', 'repo_exists', 'git_host_unavailable'] as const),
  ],
  perMinuteMax: 30,
});

/** The one who started it, owners of the app, and admins. */
export const getBootstrap = endpoint<typeof shapes.getBootstrap>()({
  id: 'bootstraps.get',
  method: 'GET',
  path: `${runs}/{run}`,
  summary: 'How far a run has come',
  kind: 'read',
  authority: member,
  who: who('O:y C:y A:y M:own P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const cancelBootstrap = endpoint<typeof shapes.cancelBootstrap>()({
  id: 'bootstraps.cancel',
  method: 'POST',
  path: `${runs}/{run}/cancel`,
  summary: 'Stop a run after the step that is under way; what it made stays',
  kind: 'mutate',
  authority: member,
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
  status: 200,
  errors: ['not_found', 'invalid_state_transition'],
});

/** The tenant of the path is where the new app will be. The source is one that you see, there or in another tenant. */
export const forkApp = endpoint<typeof shapes.forkApp>()({
  id: 'apps.fork',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/forks',
  summary: 'Make an app from another: its code and settings, never its rows, secrets, domains or grants',
  kind: 'mutate',
  authority: member,
  who: who('O:y C:y A:v M:v P:n N:n X:n'),
  status: 201,
  errors: [
    ...([
      'not_found',
      'slug_taken',
      'subdomain_taken',
      'resource_tier_exceeded',
      'code_not_readable',
    ] as const),
    ...(['installation_missing', 'repo_exists', 'git_host_unavailable'] as const),
  ],
  perMinuteMax: 30,
});
