import { createPat, patActions, patLifeDaysDefault, patLifeDaysMax } from '@svc/contract/identity.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'pats create',
  summary: 'Create a personal access token for the data API',
  description:
    'The secret is printed once and kept nowhere. Pass it to programs as SVC_API_KEY, never in code.',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, summary: 'What it is for' },
    actions: { type: 'list', values: patActions, summary: 'What it may do (read)' },
    app: {
      type: 'list',
      placeholder: 'app',
      summary: 'Only these apps, by id or slug; all of yours otherwise',
    },
    'expires-in-days': {
      type: 'integer',
      min: 1,
      max: patLifeDaysMax,
      summary: `Days until it ends (${patLifeDaysDefault})`,
    },
  },
  endpoint: createPat,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: {
      name: flags.name,
      actions: flags.actions,
      apps: flags.app,
      expires_in_days: flags['expires-in-days'],
    },
  }),
  present: (ctx, pat) => {
    ctx.note('This is the only time the secret is shown. Keep it where secrets are kept.');
    return pat;
  },
  view: { columns: [], fields: ['id', 'name', 'actions', 'apps', 'expires_at', 'secret'] },
  examples: [
    {
      line: 'svc pats create --name ci --actions read,write --app shop --execute',
      does: 'A token for one app',
    },
    {
      line: 'svc pats create --name report --expires-in-days 7 --execute --json',
      does: 'A short-lived one, as JSON',
    },
  ],
});
