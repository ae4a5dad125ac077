import type * as shapes from './access-preview.shapes.ts';
import { read, who } from './endpoint.ts';

/** Rows of a preview as the person sees them. */
export const previewRowsMax = 5;
export const accessActions = ['read', 'insert', 'update', 'delete', 'export'] as const;
export const columnAccess = ['clear', 'masked', 'hidden'] as const;
export const accessSources = ['owner', 'rule', 'table_grant', 'grant', 'policy'] as const;
/** How a person comes to a table of an app: inside the app, or in the console and on the command line. */
export const previewVia = ['app', 'console'] as const;

export const previewAccess = read<typeof shapes.previewAccess>()({
  id: 'access.preview',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/access/preview',
  summary: 'Show what a person sees of a table and why, also with a policy that is not saved',
  // Admins ask for everybody, owners of an app or a connector for its tables, others for themselves.
  authority: { credential: 'login', role: 'tenant_member', outsider: 'forbidden' },
  who: who('O:own C:own A:y M:own P:n N:n X:n'),
  errors: ['forbidden', 'not_found', 'consent_required', 'connector_unavailable'],
});
