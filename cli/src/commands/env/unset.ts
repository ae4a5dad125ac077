import { changeEnv } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { envView } from '../../views/env.ts';

export default defineCommand({
  words: 'env unset',
  summary: 'Unset variables of an app; they are gone from the next deployment on',
  kind: 'mutate',
  positionals: [{ name: 'names', summary: 'Names of the variables', repeated: true }],
  flags: appFlag,
  endpoint: changeEnv,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: { unset: positionals.names },
  }),
  present: (ctx, answer) => {
    const isChanged = answer.changed !== false;
    ctx.note(
      isChanged ? 'Gone from the next deployment on.' : 'Nothing changed: there was no such variable.',
    );
    return answer;
  },
  view: envView,
  examples: [{ line: 'svc env unset GREETING --app pet-shop --execute', does: 'Unset one' }],
});
