import { changeEnv, envEnvironments, listEnv } from '@svc/contract/deployments.ts';
import { defineCommand } from '../command.ts';
import { appFlag } from '../inputs/common.ts';
import { effectText, envView } from '../views/apps.ts';

const environmentFlag = {
  environment: {
    type: 'enum',
    values: envEnvironments,
    summary: 'production: the app itself; preview: the previews of its branches (production)',
  },
} as const;

export const envList = defineCommand({
  words: 'env list',
  summary: 'List the environment variables of an app by name; values are never shown',
  kind: 'read',
  flags: { ...appFlag, ...environmentFlag },
  endpoint: listEnv,
  input: ({ flags }) => ({ query: { environment: flags.environment } }),
  pages: 'all',
  view: envView,
  examples: { '--app pet-shop': 'List names and origins' },
});

export const envSet = defineCommand({
  words: 'env set',
  summary: 'Set environment variables of an app, effective with the next deployment',
  description:
    'Values are encrypted and never shown: they are absent from previews and the audit log, and *** in logs. Typed ' +
    'values stay in the history of the shell; --stdin and --from-file avoid that.',
  kind: 'mutate',
  calls: `${changeEnv.method} ${changeEnv.path}`,
  positionals: [{ name: 'pairs', summary: 'NAME=value', optional: true, repeated: true }],
  flags: {
    ...appFlag,
    ...environmentFlag,
    'from-file': {
      type: 'string',
      placeholder: 'file',
      summary: 'File of NAME=value lines, such as .env; typed values override it',
    },
    stdin: {
      type: 'string',
      placeholder: 'name',
      summary: 'Read the value of this variable from standard input',
    },
  },
  oneRequired: [['pairs', 'from-file', 'stdin']],
  run: async (ctx, { positionals, flags }) => {
    const { setEnv } = await import('../env/set-env.ts');
    const { app, environment, 'from-file': fromFile, stdin } = flags;
    return setEnv(ctx, { app, environment, pairs: positionals.pairs, fromFile, stdin });
  },
  output: async () => (await import('@svc/contract/deployments.shapes.ts')).changeEnv.answer,
  examples: {
    'GREETING=hello MODE=fast --app pet-shop': 'Preview which would change',
    'GREETING=hello --app pet-shop --execute': 'Set one',
    '--stdin API_KEY --app pet-shop --execute': 'Set one without typing its value',
    'MODE=test --environment preview --app pet-shop --execute': 'Set one for previews of branches',
  },
});

export const envUnset = defineCommand({
  words: 'env unset',
  summary: 'Unset environment variables of an app, effective with the next deployment',
  kind: 'mutate',
  positionals: [{ name: 'names', summary: 'Names of the variables', repeated: true }],
  flags: { ...appFlag, ...environmentFlag },
  endpoint: changeEnv,
  input: ({ positionals, flags }) => ({
    body: { unset: positionals.names, environment: flags.environment },
  }),
  present: (ctx, answer, { flags }) => {
    const isChanged = answer.changed !== false;
    ctx.note(isChanged ? effectText(flags) : 'Nothing has changed: there is no such variable.');
    return answer;
  },
  view: envView,
  examples: { 'GREETING --app pet-shop --execute': 'Unset one' },
});
