import { addDomain } from '@svc/contract/domains.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { domainText } from '../../../domains/domain-text.ts';

export default defineCommand({
  words: 'apps domains add',
  summary: 'Attach a host of yours to an app, and see which DNS records to publish',
  description:
    'The host waits until its DNS records are published and looked up, by itself or with svc apps domains verify. ' +
    'Others may wait for the same host; the one whose records are published gets it.',
  kind: 'mutate',
  positionals: [{ name: 'host', summary: 'Host name, such as www.example.com' }],
  flags: appFlag,
  endpoint: addDomain,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: { host: positionals.host },
  }),
  present: (ctx, answer, { flags }) => {
    ctx.note(`When they are published: svc apps domains verify ${answer.id} --app ${flags.app} --wait`);
    return answer;
  },
  text: domainText,
  examples: [
    { line: 'svc apps domains add www.example.com --app pet-shop', does: 'See what would happen' },
    {
      line: 'svc apps domains add www.example.com --app pet-shop --execute',
      does: 'Attach it, and print the records to publish',
    },
  ],
});
