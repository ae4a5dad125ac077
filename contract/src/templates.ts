import { endpoint, who } from './endpoint.ts';
import { readsPerMinuteMax } from './limits.ts';
import type * as shapes from './templates.shapes.ts';

export const templatesMax = 100;

export const listTemplates = endpoint<typeof shapes.listTemplates>()({
  id: 'templates.list',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/templates',
  summary: "What an app can be begun from: the built-in templates and the tenant's own",
  kind: 'read',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 200,
  perMinuteMax: readsPerMinuteMax,
});

const admins = {
  authority: { credential: 'login', role: 'tenant_admin', outsider: 'not_found' },
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
} as const;

/** Asks the git host whether the repository can be read, in a preview too. */
export const createTemplate = endpoint<typeof shapes.createTemplate>()({
  id: 'templates.create',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/templates',
  summary: 'Make a repository a template of the tenant; its code is taken anew each time it is used',
  kind: 'mutate',
  ...admins,
  status: 201,
  errors: ['not_found', 'unique_violation', 'limit_reached', 'git_account_required', 'git_host_unavailable'],
});

export const deleteTemplate = endpoint<typeof shapes.deleteTemplate>()({
  id: 'templates.delete',
  method: 'DELETE',
  path: '/api/v1/tenants/{tenantID}/templates/{template}',
  summary: 'Take a template of the tenant away; apps made from it stay',
  kind: 'mutate',
  ...admins,
  status: 204,
  errors: ['not_found'],
});
