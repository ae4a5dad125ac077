import { rejectPublication } from '@svc/contract/review.ts';
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
  words: 'review reject',
  summary: 'Refuse to show an app to more people, and say why',
  description: 'For tenant admins and other owners than who asked. Who sees the app stays as it is.',
  kind: 'mutate',
  positionals: requestPositional,
  flags: { ...requestFlag, reason: { type: 'string', required: true, summary: 'Why not' } },
  oneRequired: requestRequired,
  check: checkRequest,
  endpoint: rejectPublication,
  input: ({ tenant, ...given }) => ({
    params: { tenantID: tenant, request: requestOf(given) },
    body: { reason: given.flags.reason },
  }),
  view: publicationView,
  examples: [
    {
      line: "svc review reject 01977777-7777-7777-8777-777777777777 --reason 'the prices are wrong' --execute",
      does: 'Say no, and why',
    },
  ],
});
