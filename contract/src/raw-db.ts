import { act, member, read, representative, who } from './endpoint.ts';
import type * as shapes from './raw-db.shapes.ts';

export const rawDbConnectionsMax = { XS: 5, S: 10, M: 20, L: 35, XL: 50 } as const;
export const rawDbStatuses = ['none', 'creating', 'ready', 'closed', 'dropping'] as const;

const base = '/api/v1/tenants/{tenantID}/apps/{app}/raw-db';

export const getRawDb = read<typeof shapes.getRawDb>()({
  id: 'rawDb.get',
  path: base,
  summary: "Get the status and address of the app's PostgreSQL database; never its password",
  authority: { ...member, app: 'owners_or_admin', deletedApp: 'reached' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
});

export const enableRawDb = act<typeof shapes.enableRawDb>()({
  id: 'rawDb.enable',
  path: `${base}/enable`,
  summary: 'Create a PostgreSQL database for the app; the connection string is shown once',
  ...representative,
  errors: ['app_not_active', 'invalid_state_transition', 'raw_db_unavailable'],
});

export const rotateRawDb = act<typeof shapes.rotateRawDb>()({
  id: 'rawDb.rotate',
  path: `${base}/rotate`,
  summary: "Rotate the password of the app's PostgreSQL database; the new connection string is shown once",
  ...representative,
  errors: ['invalid_state_transition'],
});

export const disableRawDb = act<typeof shapes.disableRawDb>()({
  id: 'rawDb.disable',
  path: `${base}/disable`,
  summary: "Delete the app's PostgreSQL database with all of its data",
  ...representative,
  irreversible: true,
});
