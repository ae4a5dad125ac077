import { admins, anyMember, change, read, remove } from './endpoint.ts';
import { readsPerMinuteMax } from './limits.ts';
import type * as shapes from './templates.shapes.ts';

export const templatesMax = 100;

export const listTemplates = read<typeof shapes.listTemplates>()({
  id: 'templates.list',
  path: '/api/v1/tenants/{tenantID}/templates',
  summary: "List the app templates: built-in ones and the tenant's own",
  ...anyMember,
  perMinuteMax: readsPerMinuteMax,
});

/** Checks at the git host that the repository is readable, in a preview too. */
export const createTemplate = change<typeof shapes.createTemplate>()({
  id: 'templates.create',
  path: '/api/v1/tenants/{tenantID}/templates',
  summary: 'Create a template from a repository; its current code is copied at each use',
  ...admins,
  errors: ['not_found', 'unique_violation', 'limit_reached', 'git_account_required', 'git_host_unavailable'],
});

export const deleteTemplate = remove<typeof shapes.deleteTemplate>()({
  id: 'templates.delete',
  path: '/api/v1/tenants/{tenantID}/templates/{template}',
  summary: 'Delete a template of the tenant; apps created from it remain',
  ...admins,
});
