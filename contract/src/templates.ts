import { endpoint, who } from './endpoint.ts';
import { readsPerMinuteMax } from './limits.ts';
import type * as shapes from './templates.shapes.ts';

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
