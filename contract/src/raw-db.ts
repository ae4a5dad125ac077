import { endpoint, who } from './endpoint.ts';
import type * as shapes from './raw-db.shapes.ts';

/** Connections that an app's own database takes at once, by the app's resource preset. */
export const rawDbConnectionsMax = { XS: 5, S: 10, M: 20, L: 35, XL: 50 } as const;
/** `none`: it has none. `closed`: the app is deleted, and nobody is let in until it is restored. */
export const rawDbStatuses = ['none', 'creating', 'ready', 'closed', 'dropping'] as const;

const tenantWide = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const representative = { ...tenantWide, app: 'owner' } as const;
const base = '/api/v1/tenants/{tenantID}/apps/{app}/raw-db';

export const getRawDb = endpoint<typeof shapes.getRawDb>()({
  id: 'rawDb.get',
  method: 'GET',
  path: base,
  summary: 'Whether an app has a PostgreSQL database of its own, and where it is; never its password',
  kind: 'read',
  authority: { ...tenantWide, app: 'owners_or_admin', deletedApp: 'reached' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const enableRawDb = endpoint<typeof shapes.enableRawDb>()({
  id: 'rawDb.enable',
  method: 'POST',
  path: `${base}/enable`,
  summary: 'Give an app a PostgreSQL database of its own; the connection string is handed over once',
  kind: 'mutate',
  authority: representative,
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found', 'app_not_active', 'invalid_state_transition', 'raw_db_unavailable'],
});

export const rotateRawDb = endpoint<typeof shapes.rotateRawDb>()({
  id: 'rawDb.rotate',
  method: 'POST',
  path: `${base}/rotate`,
  summary: "Change the password of an app's own PostgreSQL database; the new string is handed over once",
  kind: 'mutate',
  authority: representative,
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found', 'invalid_state_transition'],
});

export const disableRawDb = endpoint<typeof shapes.disableRawDb>()({
  id: 'rawDb.disable',
  method: 'POST',
  path: `${base}/disable`,
  summary: "Drop an app's own PostgreSQL database with everything in it",
  kind: 'mutate',
  authority: representative,
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
  irreversible: true,
});
