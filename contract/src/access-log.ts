import type * as shapes from './access-log.shapes.ts';
import { member, read, who } from './endpoint.ts';

export const accessLogRetentionDays = 90;
export const accessLogPerPageMax = 1_000;
/** Kinds of readers: a person, an app's own identity or a service account. */
export const accessLogActors = ['user', 'app', 'service_account'] as const;

export const listAccessLog = read<typeof shapes.listAccessLog>()({
  id: 'accessLog.list',
  path: '/api/v1/tenants/{tenantID}/access/log',
  summary: 'List reads of governed data, newest first: who read what, never the values',
  // Owners of a connector read the entries of their connector.
  authority: member,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  errors: ['forbidden', 'invalid_cursor'],
});
