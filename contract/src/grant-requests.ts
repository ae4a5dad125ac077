import { act, anyMember, change, member, read, who } from './endpoint.ts';
import type * as shapes from './grant-requests.shapes.ts';

export const grantRequestStatuses = ['pending', 'approved', 'rejected', 'withdrawn', 'expired'] as const;
export type GrantRequestStatus = (typeof grantRequestStatuses)[number];

/** What can be done with a request in which states. The platform withdraws requests whose requester or connector is gone. */
export const grantRequestStates = {
  approve: ['pending'],
  reject: ['pending'],
  withdraw: ['pending'],
  expire: ['pending'],
} as const satisfies Record<string, readonly GrantRequestStatus[]>;

/** A request that nobody decides ends after this time. */
export const grantRequestDaysMax = 7;
export const grantRequestsPendingMax = 50;
export const grantSecondsMin = 60;
export const grantSecondsMax = 365 * 24 * 3600;

const collection = '/api/v1/tenants/{tenantID}/grant-requests';
const one = `${collection}/{request}`;

export const listGrantRequests = read<typeof shapes.listGrantRequests>()({
  id: 'grantRequests.list',
  path: collection,
  summary: 'List your requests for access and those that you can decide, newest first',
  ...anyMember,
});

export const listRequestOptions = read<typeof shapes.listRequestOptions>()({
  id: 'grantRequests.options',
  path: `${collection}/options`,
  summary: 'List the connectors and presets that you can request',
  ...anyMember,
});

export const requestGrant = change<typeof shapes.requestGrant>()({
  id: 'grantRequests.create',
  path: collection,
  summary: 'Request access to a connector for yourself, for a limited time',
  ...anyMember,
  errors: ['grant_request_open', 'duration_exceeded', 'limit_reached'],
  // Each is an e-mail to everybody who can decide it.
  perMinuteMax: 20,
});

/** Not found for members who neither made the request nor can decide it. */
export const getGrantRequest = read<typeof shapes.getGrantRequest>()({
  id: 'grantRequests.get',
  path: one,
  summary: 'Get a request for access',
  authority: member,
  who: who('O:y C:n A:y M:n P:n N:n X:n'),
});

export const listRequestPolicies = read<typeof shapes.listRequestPolicies>()({
  id: 'grantRequests.policies',
  path: `${one}/policies`,
  summary: 'List the enabled policies that can be attached when a request is approved',
  authority: member,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  errors: ['forbidden'],
});

export const approveGrantRequest = act<typeof shapes.approveGrantRequest>()({
  id: 'grantRequests.approve',
  path: `${one}/approve`,
  summary: 'Approve a request for access: the requester gets a grant for the requested time, with policies',
  authority: member,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  errors: ['forbidden', 'self_approval', 'settled', 'duration_exceeded'],
});

export const rejectGrantRequest = act<typeof shapes.rejectGrantRequest>()({
  id: 'grantRequests.reject',
  path: `${one}/reject`,
  summary: 'Reject a request for access, with a reason',
  authority: member,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  errors: ['forbidden', 'self_review', 'settled'],
});

export const withdrawGrantRequest = act<typeof shapes.withdrawGrantRequest>()({
  id: 'grantRequests.withdraw',
  path: `${one}/withdraw`,
  summary: 'Withdraw your request for access',
  authority: member,
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
  errors: ['forbidden', 'settled'],
});
