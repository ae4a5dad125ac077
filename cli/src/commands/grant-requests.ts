import {
  approveGrantRequest,
  getGrantRequest,
  grantRequestStatuses,
  listGrantRequests,
  listRequestOptions,
  listRequestPolicies,
  rejectGrantRequest,
  requestGrant,
  withdrawGrantRequest,
} from '@svc/contract/grant-requests.ts';
import { scopeEntriesMax } from '@svc/contract/grants.ts';
import { defineCommand } from '../command.ts';
import { sanitize } from '../framework/text.ts';
import { pageFlags } from '../inputs/common.ts';
import { policyFlagSummary } from '../inputs/policy.ts';
import { grantRequestView, requestPolicyView } from '../views/access.ts';

const requestPositional = [
  { name: 'request', summary: 'Id of the request, from svc grants requests list' },
] as const;

export const grantsRequest = defineCommand({
  words: 'grants request',
  summary: 'Request access to a connector for yourself, for a limited time',
  description:
    'The owners of the connector and tenant admins are notified; one of them, never yourself, approves or rejects it. ' +
    'The time counts from the approval. A request that nobody decides ends after 7 days. svc grants requests options ' +
    'lists what you can request.',
  kind: 'mutate',
  flags: {
    connector: { type: 'string', required: true, placeholder: 'connector', summary: 'Connector id or slug' },
    preset: {
      type: 'string',
      required: true,
      placeholder: 'preset',
      summary: 'reader, writer, admin or a preset of the tenant',
    },
    scope: {
      type: 'list',
      placeholder: 'path',
      summary: `schema or schema/table, at most ${scopeEntriesMax} (the whole connector)`,
    },
    'expires-in': {
      type: 'duration',
      required: true,
      min: '1m',
      summary: 'How long you need it, such as 8h',
    },
    reason: { type: 'string', required: true, summary: 'What you need it for' },
  },
  endpoint: requestGrant,
  input: ({ flags }) => ({
    body: {
      connector_id: flags.connector,
      preset_id: flags.preset,
      scope_resource_paths: flags.scope,
      duration_seconds: Math.floor(flags['expires-in'] / 1000),
      reason: flags.reason,
    },
  }),
  view: grantRequestView,
  finish: async (ctx, result) => {
    if (ctx.mutation.mode !== 'execute') return result;
    const { id, status, decision_reason } = Object(result.value) as Record<string, unknown>;
    ctx.note(
      status === 'approved'
        ? sanitize(String(decision_reason))
        : `Wait for the decision: svc grants requests show ${sanitize(String(id))}`,
    );
    return result;
  },
  examples: {
    "--connector warehouse --preset reader --scope sales/orders --expires-in 8h --reason 'monthly report' --execute":
      'Request to read one table for 8 hours',
  },
});

export const grantsRequestsOptions = defineCommand({
  words: 'grants requests options',
  summary: 'List the connectors and presets that you can request',
  kind: 'read',
  endpoint: listRequestOptions,
  examples: { '--json': 'List connectors with their longest time, and presets with their actions' },
});

export const grantsRequestsList = defineCommand({
  words: 'grants requests list',
  summary: 'List your requests for access and those that you can decide, newest first',
  kind: 'read',
  flags: {
    view: {
      type: 'enum',
      values: ['all', 'mine', 'to_decide'],
      summary: 'Your own requests, or the pending ones that you can decide',
    },
    status: { type: 'enum', values: grantRequestStatuses, summary: 'Only requests with this status' },
    connector: { type: 'string', placeholder: 'connector', summary: 'Only this connector, by id or slug' },
    ...pageFlags,
  },
  endpoint: listGrantRequests,
  input: ({ flags }) => ({
    query: { view: flags.view, status: flags.status, connector_id: flags.connector },
  }),
  view: grantRequestView,
  examples: { '--view to_decide': 'List what waits for you', '--view mine': 'List your own requests' },
});

export const grantsRequestsShow = defineCommand({
  words: 'grants requests show',
  summary: 'Show a request for access and its decision',
  kind: 'read',
  positionals: requestPositional,
  endpoint: getGrantRequest,
  view: grantRequestView,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c': 'Show one request' },
});

export const grantsRequestsPolicies = defineCommand({
  words: 'grants requests policies',
  summary: 'List the policies that you can attach when you approve a request',
  description:
    'Enabled policies for the connector of the request and for any connector. Enforced policies narrow the grant without ' +
    'being attached.',
  kind: 'read',
  positionals: requestPositional,
  flags: pageFlags,
  endpoint: listRequestPolicies,
  view: requestPolicyView,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c': 'List what narrows this grant' },
});

export const grantsRequestsApprove = defineCommand({
  words: 'grants requests approve',
  summary: 'Approve a request for access; its time starts now',
  description:
    'For the owners of the connector and tenant admins, except for the requester. Without --policy the requester sees every ' +
    'row and column of the requested tables, except for what enforced policies hide; the preview names the policies that are ' +
    'not attached.',
  kind: 'mutate',
  positionals: requestPositional,
  flags: {
    policy: { type: 'list', placeholder: 'policy', summary: policyFlagSummary },
    reason: { type: 'string', summary: 'Note for the requester' },
  },
  endpoint: approveGrantRequest,
  input: ({ flags: { policy, reason } }) => ({
    body: policy === undefined && reason === undefined ? undefined : { policy_ids: policy, reason },
  }),
  view: grantRequestView,
  examples: {
    "0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --policy 'own region' --execute": 'Approve it, with a policy',
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c': 'Preview it, with the policies that are not attached',
  },
});

export const grantsRequestsReject = defineCommand({
  words: 'grants requests reject',
  summary: 'Reject a request for access, with a reason',
  kind: 'mutate',
  positionals: requestPositional,
  flags: { reason: { type: 'string', required: true, summary: 'Reason, for the requester' } },
  endpoint: rejectGrantRequest,
  input: ({ flags }) => ({ body: { reason: flags.reason } }),
  view: grantRequestView,
  examples: {
    "0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --reason 'use the report instead' --execute": 'Reject it',
  },
});

export const grantsRequestsWithdraw = defineCommand({
  words: 'grants requests withdraw',
  summary: 'Withdraw your request for access',
  kind: 'mutate',
  positionals: requestPositional,
  endpoint: withdrawGrantRequest,
  view: grantRequestView,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute': 'Withdraw it' },
});
