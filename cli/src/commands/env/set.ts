import { changeEnv } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'env set',
  summary: 'Set variables of an app; they count from the next deployment on',
  description:
    'Values are kept sealed, and shown nowhere: not in the preview, not in the audit, and *** in logs. What is typed stays in ' +
    'the history of the shell; --stdin and --from-file leave nothing there.',
  kind: 'mutate',
  calls: `${changeEnv.method} ${changeEnv.path}`,
  positionals: [{ name: 'pairs', summary: 'NAME=value', optional: true, repeated: true }],
  flags: {
    ...appFlag,
    'from-file': {
      type: 'string',
      placeholder: 'file',
      summary: 'A file of NAME=value lines, such as .env; what is typed goes before it',
    },
    stdin: {
      type: 'string',
      placeholder: 'name',
      summary: 'Read the value of this variable from standard input',
    },
  },
  oneRequired: [['pairs', 'from-file', 'stdin']],
  run: async (ctx, { positionals, flags }) => {
    const { setEnv } = await import('../../env/set-env.ts');
    const { app, 'from-file': fromFile, stdin } = flags;
    return setEnv(ctx, { app, pairs: positionals.pairs, fromFile, stdin });
  },
  output: async () => {
    const shapes = await import('@svc/contract/deployments.shapes.ts');
    return shapes.changeEnv.answer.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  },
  examples: [
    { line: 'svc env set GREETING=hello MODE=fast --app pet-shop', does: 'See which would change' },
    { line: 'svc env set GREETING=hello --app pet-shop --execute', does: 'Set one' },
    {
      line: 'svc env set --stdin API_KEY --app pet-shop --execute',
      does: 'Set one without typing its value',
    },
  ],
});
