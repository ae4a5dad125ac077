import { publishedVisibilities, requestPublication } from '@svc/contract/review.ts';
import { appFlag } from '../app-flag.ts';
import { defineCommand } from '../define-command.ts';
import { publicationView } from '../views/publication.ts';

export default defineCommand({
  words: 'publish',
  summary: 'Ask for a review, to show an app to more people',
  description:
    'The only way to make an app wider. The request is of what is deployed at this moment: a tenant admin, and never who ' +
    'asked unless they are the only admin there is, looks at it and approves or rejects it. Deploying something else, making the app narrower or archiving it ends ' +
    'the request. With --deployment-id it must be that which is live; of a site with staging it may also be what is staged, ' +
    'which the approval then shows.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    visibility: {
      type: 'enum',
      values: publishedVisibilities,
      required: true,
      summary: 'Who is to see it: invited people, the tenant, or everybody',
    },
    'deployment-id': {
      type: 'string',
      placeholder: 'id',
      summary: 'What is to be reviewed: a deployment, or a release that none has made',
    },
    note: { type: 'string', summary: 'For whoever reviews it' },
  },
  endpoint: requestPublication,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: { visibility: flags.visibility, deployment_id: flags['deployment-id'], note: flags.note },
  }),
  view: publicationView,
  settle: async (ctx, made) => {
    if (ctx.mutation.mode === 'execute') {
      const { requestedNote } = await import('../review/requested-note.ts');
      requestedNote(ctx, made.value);
    }
    return made;
  },
  examples: [
    { line: 'svc publish --app pet-shop --visibility public', does: 'See what would be asked for' },
    {
      line: "svc publish --app pet-shop --visibility internet --note 'for the fair' --execute",
      does: 'Ask for it; in a folder with svc.yaml, --app comes from there',
    },
  ],
});
