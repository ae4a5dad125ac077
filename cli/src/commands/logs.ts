import { readAppLog } from '@svc/contract/deployments.ts';
import { appFlag } from '../app-flag.ts';
import { defineCommand } from '../define-command.ts';
import { logFlags } from '../deploy/log-flags.ts';

const tailDefault = 200;

export default defineCommand({
  words: 'logs',
  summary: 'What a running app writes',
  description:
    `The last ${tailDefault} lines unless --tail says otherwise. With --follow it goes on until Ctrl-C (exit 130), with ` +
    '--deployment until that one runs no more.',
  kind: 'read',
  timeoutDefault: '24h',
  calls: `${readAppLog.method} ${readAppLog.path}`,
  flags: {
    ...appFlag,
    ...logFlags,
    deployment: { type: 'string', placeholder: 'id', summary: 'Only what this deployment writes' },
  },
  run: async (ctx, { flags }) => {
    const [{ followLog, showLog }, { resolveTenant }] = await Promise.all([
      import('../deploy/show-log.ts'),
      import('../tenant.ts'),
    ]);
    const place = {
      ...{ log: 'app' as const, tenantID: await resolveTenant(ctx), app: flags.app },
      deployment: flags.deployment,
    };
    const tail = flags.tail ?? tailDefault;
    return flags.follow ? followLog(ctx, place, tail) : showLog(ctx, place, tail);
  },
  output: async () => (await import('../deploy/log-schema.ts')).logSchema(),
  examples: [{ line: 'svc logs --app pet-shop --tail 50', does: 'What it has written last' }],
});
