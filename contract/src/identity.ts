import { anyMember, change, member, ownRecords, read, remove, replace, who } from './endpoint.ts';
import type * as shapes from './identity.shapes.ts';

export const tenantRoles = ['tenant_member', 'tenant_admin'] as const;
export const userStatuses = ['active', 'suspended'] as const;
/** `deactivated`: the directory of the tenant has ended the membership's access. */
export const memberStatuses = [...userStatuses, 'deactivated'] as const;

export const passwordCharsMin = 12;
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
export const siteAuthPath = '/site-auth';

export const getMe = read<typeof shapes.getMe>()({
  id: 'me.get',
  path: '/api/v1/me',
  summary: 'Get your user, tenants and roles',
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
});

export const listSessions = read<typeof shapes.listSessions>()({
  id: 'sessions.list',
  path: '/api/v1/me/sessions',
  summary: 'List your browser sessions and command-line logins',
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
});

export const revokeSession = remove<typeof shapes.revokeSession>()({
  id: 'sessions.revoke',
  path: '/api/v1/me/sessions/{sessionID}',
  summary: 'End one of your sessions; its tokens stop working immediately',
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
});

export const listSignIns = read<typeof shapes.listSignIns>()({
  id: 'signIns.list',
  path: '/api/v1/me/sign-ins',
  summary: 'List your sign-ins, failed attempts, approved devices and new tokens, newest first',
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
});

export const changePassword = replace<typeof shapes.changePassword>()({
  id: 'me.changePassword',
  path: '/api/v1/me/password',
  summary: 'Change your password; your other sessions end',
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
  irreversible: true,
  errors: ['wrong_password', 'no_password', 'rate_limited'],
});

export const listPats = read<typeof shapes.listPats>()({
  id: 'pats.list',
  path: '/api/v1/tenants/{tenantID}/pats',
  summary: "List your personal access tokens; admins can list everyone's with `all`",
  ...ownRecords,
  errors: ['forbidden'],
});

export const createPat = change<typeof shapes.createPat>()({
  id: 'pats.create',
  path: '/api/v1/tenants/{tenantID}/pats',
  summary: 'Create a personal access token; its secret is only in this response',
  ...anyMember,
  errors: ['limit_reached'],
});

export const revokePat = remove<typeof shapes.revokePat>()({
  id: 'pats.revoke',
  path: '/api/v1/tenants/{tenantID}/pats/{patID}',
  summary: 'Revoke one of your personal access tokens, or any as an admin',
  authority: member,
  who: who('O:own C:own A:y M:own P:n N:n X:n'),
  status: 200,
  irreversible: true,
});
