import { getPublication } from '@svc/contract/review.ts';
import { defineCommand } from '../../define-command.ts';
import {
  checkRequest,
  requestFlag,
  requestOf,
  requestPositional,
  requestRequired,
} from '../../review/request-id.ts';
import { publicationView } from '../../views/publication.ts';

export default defineCommand({
  words: 'review get',
  summary: 'One request to publish an app',
  description: 'For who asked, for owners of the app and for tenant admins.',
  kind: 'read',
  positionals: requestPositional,
  flags: requestFlag,
  oneRequired: requestRequired,
  check: checkRequest,
  endpoint: getPublication,
  input: ({ tenant, ...given }) => ({ params: { tenantID: tenant, request: requestOf(given) } }),
  view: publicationView,
  examples: [
    { line: 'svc review get 01977777-7777-7777-8777-777777777777', does: 'How it stands, and what was said' },
  ],
});
