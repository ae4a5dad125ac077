import type * as shapes from './domains.shapes.ts';
import { act, change, owners, ownersOrAdmin, read, remove } from './endpoint.ts';

export const domainsPerAppMax = 50;
export const domainStatuses = ['pending', 'active', 'disconnected'] as const;
export const domainCheckStates = ['waiting', 'ok', 'failed'] as const;
export const domainCheckReasons = [
  'not_checked',
  'dns_unavailable',
  'missing',
  'mismatch',
  'active_elsewhere',
  'not_configured',
  'not_ordered',
  'ordered',
  'caa_forbids',
  'expired',
  'order_failed',
] as const;
export const disconnectReasons = [
  'not_verified',
  'records_wrong',
  'certificate_expired',
  'claimed_elsewhere',
] as const;
export const challengeLabel = '_svc-challenge';
/** A name has 253 characters at most, with the challenge before it. */
export const hostCharsMax = 253 - challengeLabel.length - 1;
export const challengePrefix = 'svc-verify=';
export const edgeLabel = 'edge';
/** Checks of a pending domain before it is disconnected. Outages use up no try. */
export const pendingTriesMax = 75;
export const pendingDaysMax = 7;
/** An active domain is disconnected after this many failed checks over at least this time. */
export const wrongChecksMin = 3;
export const wrongHoursMin = 24;

const collection = '/api/v1/tenants/{tenantID}/apps/{app}/domains';
const one = `${collection}/{domain}`;

export const listDomains = read<typeof shapes.listDomains>()({
  id: 'domains.list',
  path: collection,
  summary: 'List the custom domains of an app, with the DNS records that each needs',
  ...ownersOrAdmin,
});

export const addDomain = change<typeof shapes.addDomain>()({
  id: 'domains.add',
  path: collection,
  summary: 'Add a custom domain; the response lists the DNS records to publish',
  ...owners,
  errors: ['app_not_active', 'already_attached', 'host_reserved', 'limit_reached'],
});

export const getDomain = read<typeof shapes.getDomain>()({
  id: 'domains.get',
  path: one,
  summary: 'Get a custom domain',
  ...ownersOrAdmin,
});

export const removeDomain = remove<typeof shapes.removeDomain>()({
  id: 'domains.remove',
  path: one,
  summary: 'Remove a custom domain: it is no longer served, and its certificate is deleted',
  ...ownersOrAdmin,
});

/** Queries the host's name servers, in a preview too. */
export const verifyDomain = act<typeof shapes.verifyDomain>()({
  id: 'domains.verify',
  path: `${one}/verify`,
  summary: 'Check the DNS records now; the response explains each that is not correct yet',
  ...owners,
  errors: ['app_not_active', 'host_active_elsewhere'],
  perMinuteMax: 60,
});
