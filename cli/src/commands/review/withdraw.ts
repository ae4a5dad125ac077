import { withdrawPublication } from '@svc/contract/review.ts';
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
  words: 'review withdraw',
  summary: 'Take a request to publish back',
  description: 'For who asked, and for owners of the app.',
  kind: 'mutate',
  positionals: requestPositional,
  flags: requestFlag,
  oneRequired: requestRequired,
  check: checkRequest,
  endpoint: withdrawPublication,
  input: ({ tenant, ...given }) => ({ params: { tenantID: tenant, request: requestOf(given) } }),
  view: publicationView,
  examples: [
    { line: 'svc review withdraw 01977777-7777-7777-8777-777777777777 --execute', does: 'Take it back' },
  ],
});
