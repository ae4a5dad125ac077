import { approvePublication } from '@svc/contract/review.ts';
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
  words: 'review approve',
  summary: 'Approve what was reviewed, and show it to as many people as was asked for',
  description:
    'For tenant admins, and never for who asked, unless they are the only admin there is. What is approved is what was ' +
    'deployed when it was asked for: once something else is, the request is over.',
  kind: 'mutate',
  positionals: requestPositional,
  flags: { ...requestFlag, note: { type: 'string', summary: 'What you have looked at' } },
  oneRequired: requestRequired,
  check: checkRequest,
  endpoint: approvePublication,
  input: ({ tenant, ...given }) => ({
    params: { tenantID: tenant, request: requestOf(given) },
    body: { note: given.flags.note },
  }),
  view: publicationView,
  examples: [
    { line: 'svc review approve 01977777-7777-7777-8777-777777777777', does: 'See who would see it by that' },
    {
      line: "svc review approve 01977777-7777-7777-8777-777777777777 --note 'looks right' --execute",
      does: 'Approve it',
    },
  ],
});
