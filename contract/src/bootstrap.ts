import type * as shapes from './bootstrap.shapes.ts';
import { act, anyMember, change, member, ownRecords, read, who } from './endpoint.ts';

export const bootstrapStates = ['awaiting_approval', 'running', 'done', 'failed', 'canceled'] as const;
export const bootstrapEndStates = ['done', 'failed', 'canceled'] as const;
export const bootstrapKinds = ['bootstrap', 'fork'] as const;
/** In this order. Each step is idempotent. */
export const bootstrapSteps = [
  'authorize',
  'reserve_app',
  'create_repo',
  'seed_repo',
  'connect',
  'first_deploy',
] as const;
export const bootstrapStepStates = ['waiting', 'running', 'done', 'failed'] as const;
export const bootstrapFailureCodes = [
  'device_code_expired',
  'access_denied',
  'slug_taken',
  'subdomain_taken',
  'resource_tier_exceeded',
  'repo_exists',
  'installation_missing',
  'forbidden_by_org',
  'push_rejected',
  'hook_failed',
  'template_unavailable',
  'app_not_active',
  'build_failed',
  'health_check_failed',
  'deploy_failed',
  'git_host_unavailable',
  'not_permitted',
  'internal',
] as const;
export const approvalMinutesMax = 60;

const runs = '/api/v1/tenants/{tenantID}/bootstraps';

export const startBootstrap = change<typeof shapes.startBootstrap>()({
  id: 'bootstraps.start',
  path: runs,
  summary: 'Create an app from a template: record, repository and first deployment',
  ...anyMember,
  errors: [
    'not_found',
    'slug_taken',
    'subdomain_taken',
    'resource_tier_exceeded',
    'installation_missing',
    'installation_mismatch',
    'repo_exists',
    'git_host_unavailable',
  ],
  perMinuteMax: 30,
});

export const getBootstrap = read<typeof shapes.getBootstrap>()({
  id: 'bootstraps.get',
  path: `${runs}/{run}`,
  summary: 'Get the progress of a bootstrap run',
  authority: member,
  who: who('O:y C:y A:y M:own P:n N:n X:n'),
});

export const cancelBootstrap = act<typeof shapes.cancelBootstrap>()({
  id: 'bootstraps.cancel',
  path: `${runs}/{run}/cancel`,
  summary: 'Cancel a bootstrap run after its current step; what it created remains',
  ...ownRecords,
  errors: ['invalid_state_transition'],
});

export const forkApp = change<typeof shapes.forkApp>()({
  id: 'apps.fork',
  path: '/api/v1/tenants/{tenantID}/forks',
  summary: 'Fork an app: copies code and settings, never rows, secrets, domains or grants',
  authority: member,
  who: who('O:y C:y A:v M:v P:n N:n X:n'),
  errors: [
    'not_found',
    'slug_taken',
    'subdomain_taken',
    'resource_tier_exceeded',
    'code_not_readable',
    'installation_missing',
    'repo_exists',
    'git_host_unavailable',
  ],
  perMinuteMax: 30,
});
