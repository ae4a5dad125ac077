import {
  acceptAccessRequest,
  accessRequestDaysMin,
  accessRequestStatuses,
  listAccessRequests,
  refuseAccessRequest,
  requestAccess,
} from '@svc/contract/access-requests.ts';
import { defineCommand } from '../../command.ts';
import { appFlag, pageFlags } from '../../inputs/common.ts';
import { accessRequestView } from '../../views/access.ts';

const requestPositional = { name: 'request', summary: 'Id of the request' } as const;

export const appsRequestAccess = defineCommand({
  words: 'apps request-access',
  summary: 'Ask the owners of an app for access',
  description:
    'For an invite_only app of a tenant that allows such requests (svc tenants update --access-requests yes); any other app ' +
    `is not found. You are notified of the decision. After a refusal you can ask again in ${accessRequestDaysMin} days.`,
  kind: 'mutate',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  flags: { note: { type: 'string', placeholder: 'text', summary: 'Message to the owners' } },
  endpoint: requestAccess,
  input: ({ positionals, flags }) => ({ body: { app: positionals.app, note: flags.note } }),
  view: accessRequestView,
  examples: { "pet-shop --note 'I sell the food' --execute": 'Ask for access' },
});

export const appsAccessRequestsList = defineCommand({
  words: 'apps access-requests list',
  summary: 'List the people who ask for access to an app, newest first',
  kind: 'read',
  flags: {
    ...appFlag,
    status: {
      type: 'enum',
      values: accessRequestStatuses,
      summary: 'Only requests with this status (pending)',
    },
    ...pageFlags,
  },
  endpoint: listAccessRequests,
  input: ({ flags }) => ({ query: { status: flags.status } }),
  view: accessRequestView,
  examples: { '--app pet-shop': 'List those that wait for a decision' },
});

export const appsAccessRequestsAccept = defineCommand({
  words: 'apps access-requests accept',
  summary: 'Accept a request: the person becomes an invited member of the app',
  kind: 'mutate',
  positionals: [requestPositional],
  flags: appFlag,
  endpoint: acceptAccessRequest,
  view: accessRequestView,
  examples: { '01977777-7777-7777-8777-777777777777 --app pet-shop --execute': 'Accept the request' },
});

export const appsAccessRequestsRefuse = defineCommand({
  words: 'apps access-requests refuse',
  summary: 'Refuse a request for access',
  kind: 'mutate',
  positionals: [requestPositional],
  flags: appFlag,
  endpoint: refuseAccessRequest,
  view: accessRequestView,
  examples: { '01977777-7777-7777-8777-777777777777 --app pet-shop --execute': 'Refuse it' },
});
