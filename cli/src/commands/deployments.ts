import { getAppMetrics, metricsRanges } from '@svc/contract/app-metrics.ts';
import {
  cancelDeployment,
  createDeployment,
  deploymentStates,
  getDeployment,
  grantSourceUpload,
  listDeployments,
  listInstances,
  readAppLog,
  readBuildLog,
  rollbackDeployment,
  sourceBytesMax,
} from '@svc/contract/deployments.ts';
import { defineCommand, deployCredential, describeCall } from '../command.ts';
import type { Ctx } from '../context.ts';
import { deploymentPositional, logFlags } from '../deploy/flags.ts';
import { appFlag, pageFlags } from '../inputs/common.ts';
import { metricsText } from '../output/metrics.ts';
import { deploymentView, instanceView } from '../views/delivery.ts';

export const deployCommand = defineCommand({
  words: 'deploy',
  summary: 'Build and run an app from its connected repository or a folder',
  description:
    `With --from-dir the folder is packed and uploaded (at most ${sourceBytesMax / 1024 ** 2} MiB), without the files ` +
    'that .gitignore, .svcignore and .dockerignore name, and always without .git, node_modules and .env files. The ' +
    'build log is shown on standard error until the deployment is live. Exits with 9 if the deployment failed, was ' +
    'canceled or was skipped (the previous deployment stays live), with 11 if a review is needed first, and with 10 ' +
    'if --timeout passes. The deployment continues then, and after Ctrl-C. ' +
    deployCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls:
    `${describeCall(createDeployment)}, with --from-dir before it ${describeCall(grantSourceUpload)}, ` +
    `then ${describeCall(readBuildLog)}`,
  timeoutDefault: '20m',
  flags: {
    ...appFlag,
    'from-dir': {
      type: 'string',
      placeholder: 'folder',
      excludes: ['ref'],
      summary: 'Folder with the source, instead of the connected repository',
    },
    ref: {
      type: 'string',
      placeholder: 'ref',
      summary: 'Branch, tag or commit of the connected repository (the connected branch)',
    },
    prune: { type: 'boolean', summary: 'Drop tables, columns and indexes that svc.yaml does not name' },
    'allow-destructive': { type: 'boolean', summary: 'Allow changes of tables that lose values' },
    detach: { type: 'boolean', summary: 'Do not wait for the deployment' },
  },
  run: async (ctx, { flags }) => {
    const { deployApp } = await import('../deploy/deploy-app.ts');
    const until = flags.detach ? 'started' : 'ended';
    const tables = {
      ...(flags.prune && { prune: true }),
      ...(flags['allow-destructive'] && { allow_destructive: true }),
    };
    return deployApp(ctx, { app: flags.app, fromDir: flags['from-dir'], ref: flags.ref, tables, until });
  },
  output: async () => (await import('@svc/contract/deployments.shapes.ts')).Deployment,
  examples: {
    '--app pet-shop': 'Preview a deployment of the connected repository',
    '--app pet-shop --execute': 'Deploy the connected branch',
    '--app pet-shop --from-dir site --execute': 'Deploy a folder',
  },
});

async function namedDeployment({
  tenant,
  positionals,
  flags,
  ctx,
}: {
  tenant: string;
  positionals: { 'deployment-id': string };
  flags: { app: string };
  ctx: Ctx;
}) {
  const { findDeploymentId } = await import('../deploy/find-deployment.ts');
  const ref = { tenantID: tenant, app: flags.app, deployment: positionals['deployment-id'] };
  return { params: { ...ref, deployment: await findDeploymentId(ctx, ref) } };
}

export const deploymentsList = defineCommand({
  words: 'deployments list',
  summary: 'List the deployments of an app, newest first',
  kind: 'read',
  flags: {
    ...appFlag,
    state: { type: 'enum', values: deploymentStates, summary: 'Only deployments in this state' },
    ...pageFlags,
  },
  endpoint: listDeployments,
  input: ({ flags }) => ({ query: { state: flags.state } }),
  view: deploymentView,
  examples: {
    '--app pet-shop': 'List deployments and their results',
    '--app pet-shop --state failed': 'List failed deployments',
  },
});

export const deploymentsGet = defineCommand({
  words: 'deployments get',
  summary: 'Show one deployment',
  kind: 'read',
  positionals: [deploymentPositional],
  flags: appFlag,
  endpoint: getDeployment,
  input: namedDeployment,
  view: deploymentView,
  examples: {
    '01977777-7777-7777-8777-777777777777 --app pet-shop': 'Show one by its id',
    'latest --app pet-shop': 'Show the newest one',
  },
});

export const deploymentsWait = defineCommand({
  words: 'deployments wait',
  summary: 'Wait until a deployment has ended',
  description:
    'Exits with 0 when it is live (or was, and has been superseded), with 9 if it failed, was canceled or skipped, ' +
    'or was rejected in its review, with 11 if a person must review it first, and with 10 if --timeout passes. The deployment continues then, and ' +
    'after Ctrl-C. If it failed, the last lines of the build log are shown. ' +
    deployCredential,
  kind: 'read',
  credential: 'login_or_pat',
  timeoutDefault: '20m',
  calls: `${describeCall(getDeployment)}, for latest or a number before it ${describeCall(listDeployments)}`,
  positionals: [deploymentPositional],
  flags: appFlag,
  run: async (ctx, { positionals, flags }) => {
    const { waitForDeployment } = await import('../deploy/follow-deployment.ts');
    return waitForDeployment(ctx, { app: flags.app, deployment: positionals['deployment-id'] });
  },
  output: async () => (await import('@svc/contract/deployments.shapes.ts')).Deployment,
  examples: {
    'latest --app pet-shop': 'Wait for the newest one, for example after a push',
    '01977777-7777-7777-8777-777777777777 --app pet-shop --timeout 5m': 'Wait at most 5 minutes',
  },
});

export const deploymentsLogs = defineCommand({
  words: 'deployments logs',
  summary: 'Show the build log of a deployment',
  description:
    'With --follow the command ends with the deployment, with exit code 9 if it failed, was canceled or was skipped, or ' +
    'at Ctrl-C (exit 130), which does not stop the deployment.',
  kind: 'read',
  credential: 'login_or_pat',
  timeoutDefault: '24h',
  calls: `${describeCall(readBuildLog)}, with --follow at the end ${describeCall(getDeployment)}`,
  positionals: [deploymentPositional],
  flags: { ...appFlag, ...logFlags },
  run: async (ctx, { positionals, flags }) => {
    const [{ showLog }, { followBuildLog }, { resolveTenant }] = await Promise.all([
      import('../deploy/logs.ts'),
      import('../deploy/follow-deployment.ts'),
      import('../session/tenant.ts'),
    ]);
    const { findDeploymentId } = await import('../deploy/find-deployment.ts');
    const ref = {
      tenantID: await resolveTenant(ctx),
      app: flags.app,
      deployment: positionals['deployment-id'],
    };
    const source = { ...ref, log: 'build' as const, deployment: await findDeploymentId(ctx, ref) };
    return flags.follow ? followBuildLog(ctx, source, flags.tail) : showLog(ctx, source, flags.tail);
  },
  output: async () => (await import('../output/schemas.ts')).logSchema,
  examples: {
    '01977777-7777-7777-8777-777777777777 --app pet-shop': 'Show all of it',
    '01977777-7777-7777-8777-777777777777 --app pet-shop --tail 50': 'Show the end of it',
  },
});

export const deploymentsRollback = defineCommand({
  words: 'deployments rollback',
  summary: 'Deploy the result of an earlier deployment again, with its environment',
  description:
    'Nothing is built. The command waits like svc deploy, with the same exit codes: 9 if it failed, 11 if a review is ' +
    'needed first, 10 if --timeout passes.',
  kind: 'mutate',
  credential: 'login_or_pat',
  timeoutDefault: '20m',
  positionals: [deploymentPositional],
  flags: { ...appFlag, detach: { type: 'boolean', summary: 'Do not wait for the deployment' } },
  calls: `${rollbackDeployment.method} ${rollbackDeployment.path}`,
  run: async (ctx, { positionals, flags }) => {
    const { rollBack } = await import('../deploy/deploy-app.ts');
    const until = flags.detach ? 'started' : 'ended';
    return rollBack(ctx, { app: flags.app, deployment: positionals['deployment-id'], until });
  },
  output: async () => (await import('@svc/contract/deployments.shapes.ts')).Deployment,
  examples: {
    '01977777-7777-7777-8777-777777777777 --app pet-shop --execute': 'Roll back to it',
  },
});

export const deploymentsCancel = defineCommand({
  words: 'deployments cancel',
  summary: 'Cancel a deployment that is queued or being built',
  description: 'A deployment that is being released can no longer be canceled.',
  kind: 'mutate',
  positionals: [deploymentPositional],
  flags: appFlag,
  endpoint: cancelDeployment,
  input: namedDeployment,
  view: deploymentView,
  examples: { '01977777-7777-7777-8777-777777777777 --app pet-shop --execute': 'Cancel it' },
});

export const psCommand = defineCommand({
  words: 'ps',
  summary: 'List the running instances of an app, by process',
  description:
    'web answers requests; other processes come from the Procfile or from processes in svc.yaml. An app that sleeps shows ' +
    'the instances that the next request starts.',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listInstances,
  view: instanceView,
  examples: { '--app pet-shop': 'List them' },
});

const tailDefault = 200;

export const logsCommand = defineCommand({
  words: 'logs',
  summary: 'Show the log of a running app',
  description:
    `The last ${tailDefault} lines by default. With --follow the command continues until Ctrl-C (exit 130), or with ` +
    '--deployment until that deployment stops.',
  kind: 'read',
  timeoutDefault: '24h',
  calls: `${readAppLog.method} ${readAppLog.path}`,
  flags: {
    ...appFlag,
    ...logFlags,
    deployment: { type: 'string', placeholder: 'id', summary: 'Only lines of this deployment' },
    process: { type: 'string', placeholder: 'name', summary: 'Only lines of this process, such as worker' },
  },
  run: async (ctx, { flags }) => {
    const [{ followLog, showLog }, { resolveTenant }] = await Promise.all([
      import('../deploy/logs.ts'),
      import('../session/tenant.ts'),
    ]);
    const source = {
      log: 'app' as const,
      tenantID: await resolveTenant(ctx),
      app: flags.app,
      deployment: flags.deployment,
      process: flags.process,
    };
    const tail = flags.tail ?? tailDefault;
    return flags.follow ? followLog(ctx, source, tail) : showLog(ctx, source, tail);
  },
  output: async () => (await import('../output/schemas.ts')).logSchema,
  examples: {
    '--app pet-shop --tail 50': 'Show the latest lines',
    '--app pet-shop --process worker': 'Show the lines of one process',
  },
});

export const metricsCommand = defineCommand({
  words: 'metrics',
  summary: "Show an app's requests, latency and resource usage",
  kind: 'read',
  flags: {
    ...appFlag,
    range: { type: 'enum', values: metricsRanges, summary: 'Time range (1h)' },
    process: { type: 'string', placeholder: 'name', summary: 'Only this process, such as worker' },
  },
  endpoint: getAppMetrics,
  input: ({ flags }) => ({ query: { range: flags.range, process: flags.process } }),
  text: metricsText,
  examples: {
    '--app pet-shop': 'The last hour, by the minute',
    '--app pet-shop --range 7d --json': 'The last week, by the hour',
  },
});
