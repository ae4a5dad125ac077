import type * as shapes from './domains.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const domainsPerAppMax = 50;
export const domainStatuses = ['pending', 'active', 'disconnected'] as const;
export const domainCheckStates = ['waiting', 'ok', 'failed'] as const;
/** What is wrong, or why nothing can be said; `not_configured` stands beside `ok`. */
export const domainCheckReasons = [
  ...['not_checked', 'dns_unavailable', 'missing', 'mismatch', 'active_elsewhere', 'not_configured'],
  ...['not_ordered', 'ordered', 'caa_forbids', 'expired', 'order_failed'],
] as const;
export const disconnectReasons = [
  ...['not_verified', 'records_wrong', 'certificate_expired', 'claimed_elsewhere'],
] as const;
/** Where the proof is published, below the host. */
export const challengeLabel = '_svc-challenge';
/** A name has 253 characters at most, with the challenge before it. */
export const hostCharsMax = 253 - challengeLabel.length - 1;
export const challengePrefix = 'svc-verify=';
/** The name below the apps domain that custom domains lead to. */
export const edgeLabel = 'edge';
/** A domain that waits is looked at this often, within this time; then it is disconnected. Outages use up no try. */
export const pendingTriesMax = 75;
export const pendingDaysMax = 7;
/** An active one is disconnected when it led elsewhere this often, over this time at least. */
export const wrongChecksMin = 3;
export const wrongHoursMin = 24;

const owners = { credential: 'login', role: 'tenant_member', outsider: 'not_found', app: 'owners' } as const;
const ownersOnly = { authority: owners, who: who('O:y C:y A:n M:n P:n N:n X:n') } as const;
/** An admin sees them, and may cut one off. */
const governed = {
  authority: { ...owners, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
} as const;
const collection = '/api/v1/tenants/{tenantID}/apps/{app}/domains';
const one = `${collection}/{domain}`;

export const listDomains = endpoint<typeof shapes.listDomains>()({
  id: 'domains.list',
  method: 'GET',
  path: collection,
  summary: 'The custom domains of an app, with the DNS records each needs',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const addDomain = endpoint<typeof shapes.addDomain>()({
  id: 'domains.add',
  method: 'POST',
  path: collection,
  summary: 'Attach a host to the app; the answer says which DNS records to publish',
  kind: 'mutate',
  ...ownersOnly,
  status: 201,
  errors: ['not_found', 'app_not_active', 'already_attached', 'host_reserved', 'limit_reached'],
});

export const getDomain = endpoint<typeof shapes.getDomain>()({
  id: 'domains.get',
  method: 'GET',
  path: one,
  summary: 'One custom domain',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const removeDomain = endpoint<typeof shapes.removeDomain>()({
  id: 'domains.remove',
  method: 'DELETE',
  path: one,
  summary: 'Detach a host: its certificate is deleted and it is no longer served, at once',
  kind: 'mutate',
  ...governed,
  status: 204,
  errors: ['not_found'],
});

/** Asks the name servers of the host, in a preview too. */
export const verifyDomain = endpoint<typeof shapes.verifyDomain>()({
  id: 'domains.verify',
  method: 'POST',
  path: `${one}/verify`,
  summary: 'Look the DNS records up now; the answer explains each that is not right yet',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active', 'host_active_elsewhere'],
  perMinuteMax: 60,
});
