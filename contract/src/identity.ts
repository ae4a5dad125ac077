import { endpoint, who } from './endpoint.ts';
import type * as shapes from './identity.shapes.ts';

export const tenantRoles = ['tenant_member', 'tenant_admin'] as const;
export const userStatuses = ['active', 'suspended'] as const;
export const patActions = ['read', 'write'] as const;

export const patLifeDaysDefault = 90;
export const patLifeDaysMax = 365;
export const patsPerUserMax = 50;
export const patNameCharsMax = 100;
export const accessTokenSeconds = 3600;

/** The OAuth client that the command-line tool signs in as; public, device flow and refresh only. */
export const cliClientId = 'svc-cli';
/** The grant type behind `svc login --local`: proof is the secret in the server's own data dir. */
export const localGrantType = 'urn:svc:params:oauth:grant-type:local';
export const localLoginFile = 'local-login.json';
/** Of the platform: where sites send those who are not signed in there. */
export const siteAuthPath = '/site-auth';

const ownLogin = { credential: 'login' } as const;

export const getMe = endpoint<typeof shapes.getMe>()({
  id: 'me.get',
  method: 'GET',
  path: '/api/v1/me',
  summary: 'Who the caller is, with their tenants and roles',
  kind: 'read',
  authority: ownLogin,
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
  status: 200,
});

export const listSessions = endpoint<typeof shapes.listSessions>()({
  id: 'sessions.list',
  method: 'GET',
  path: '/api/v1/me/sessions',
  summary: "The caller's own sign-ins: browser sessions and command-line logins",
  kind: 'read',
  authority: ownLogin,
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
  status: 200,
});

export const revokeSession = endpoint<typeof shapes.revokeSession>()({
  id: 'sessions.revoke',
  method: 'DELETE',
  path: '/api/v1/me/sessions/{sessionID}',
  summary: 'End one of the sign-ins of the caller; its tokens stop working at once',
  kind: 'mutate',
  authority: ownLogin,
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
  status: 204,
  errors: ['not_found'],
});

export const listPats = endpoint<typeof shapes.listPats>()({
  id: 'pats.list',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/pats',
  summary: "The caller's own personal access tokens; admins may list everyone's with `all`",
  kind: 'read',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
  status: 200,
  errors: ['forbidden'],
});

export const createPat = endpoint<typeof shapes.createPat>()({
  id: 'pats.create',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/pats',
  summary: 'Create a personal access token; its secret is in this answer and nowhere else',
  kind: 'mutate',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 201,
  errors: ['limit_reached'],
});

export const revokePat = endpoint<typeof shapes.revokePat>()({
  id: 'pats.revoke',
  method: 'DELETE',
  path: '/api/v1/tenants/{tenantID}/pats/{patID}',
  summary: 'Revoke a personal access token of the caller, or any as admin',
  kind: 'mutate',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:own C:own A:y M:own P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
  irreversible: true,
});
