import {
  archiveApp,
  deleteApp,
  deletedAppRetentionDays,
  purgeApp,
  reactivateApp,
  restoreApp,
  resumeApp,
  suspendApp,
} from '@svc/contract/app-life.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import { restartApp, scaleApp } from '@svc/contract/deployments.ts';
import { instancesMax } from '@svc/contract/manifest.ts';
import { lifecycleResult } from '../../apps/lifecycle.ts';
import { defineCommand } from '../../command.ts';
import { usageError } from '../../framework/errors.ts';
import { sanitize } from '../../framework/text.ts';
import { appPositional } from '../../inputs/common.ts';
import { scaleView } from '../../views/delivery.ts';

export const appsArchive = defineCommand({
  words: 'apps archive',
  summary: 'Stop and archive an app',
  description: 'Its rows can still be read. Nothing else changes until svc apps reactivate.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: archiveApp,
  ...lifecycleResult,
  examples: {
    'pet-shop': 'See what would change',
    'pet-shop --execute': 'Archive it',
  },
});

export const appsReactivate = defineCommand({
  words: 'apps reactivate',
  summary: 'Reactivate an archived app',
  description:
    'The app does not start: if it was running when it was archived, it is suspended, and svc apps resume starts it.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: reactivateApp,
  ...lifecycleResult,
  examples: {
    'pet-shop': 'See what would change',
    'pet-shop --execute': 'Reactivate it',
  },
});

export const appsSuspend = defineCommand({
  words: 'apps suspend',
  summary: 'Stop a running app',
  description: 'Rows and settings are not affected. svc apps resume starts it again.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: suspendApp,
  ...lifecycleResult,
  examples: {
    'pet-shop': 'See what would change',
    'pet-shop --execute': 'Suspend it',
  },
});

export const appsResume = defineCommand({
  words: 'apps resume',
  summary: 'Run a suspended app again',
  description:
    'Deploys the last successful deployment again, with the current environment variables, and waits for it. Exits ' +
    'with 9 if it fails, which leaves the app suspended, and with 10 if --timeout passes.',
  timeoutDefault: '20m',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: resumeApp,
  text: lifecycleResult.text,
  finish: async (ctx, result, { params }) => {
    const { waitForResume } = await import('../../deploy/follow-deployment.ts');
    return waitForResume(ctx, result, params);
  },
  examples: {
    'pet-shop': 'See what would change',
    'pet-shop --execute': 'Run it again',
  },
});

export const appsRestart = defineCommand({
  words: 'apps restart',
  summary: 'Start the live build of an app again',
  description:
    'Nothing is built. The new instance has the current environment variables; the one before it answers until the new ' +
    'one is healthy. The command waits like svc deploy, with the same exit codes: 9 if it failed, 10 if --timeout passes.',
  kind: 'mutate',
  credential: 'login_or_pat',
  timeoutDefault: '20m',
  positionals: [appPositional],
  flags: { detach: { type: 'boolean', summary: 'Do not wait for the restart' } },
  calls: `${restartApp.method} ${restartApp.path}`,
  run: async (ctx, { positionals, flags }) => {
    const { restart } = await import('../../deploy/deploy-app.ts');
    return restart(ctx, { app: positionals.app, until: flags.detach ? 'started' : 'ended' });
  },
  output: async () => (await import('@svc/contract/deployments.shapes.ts')).Deployment,
  examples: {
    'pet-shop': 'See what would change',
    'pet-shop --execute': 'Restart it',
  },
});

export const appsScale = defineCommand({
  words: 'apps scale',
  summary: 'Set how many instances of each process of an app run',
  description:
    `From 1 to ${instancesMax} instances of web, from 0 of other processes; processes that are not named stay as they are. It ` +
    'takes effect within seconds, without a build, and stays until a deployment whose svc.yaml sets the number of instances. ' +
    'Each instance has the memory and CPU of the resource preset.',
  kind: 'mutate',
  positionals: [appPositional, { name: 'counts', summary: 'process=instances', repeated: true }],
  endpoint: scaleApp,
  input: ({ positionals }) => ({ body: { instances: parseCounts(positionals.counts) } }),
  present: (ctx, answer) => {
    if (answer.changed === false) ctx.note('Nothing has changed: as many instances were set already.');
    return answer;
  },
  view: scaleView,
  examples: {
    'pet-shop web=3': 'See what would change',
    'pet-shop web=3 worker=2 --execute': 'Run three instances that answer requests, and two workers',
  },
});

function parseCounts(counts: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    counts.map((text) => {
      const [, process, digits] = /^([A-Za-z0-9][A-Za-z0-9_-]{0,31})=(\d{1,3})$/.exec(text) ?? [];
      if (process === undefined || digits === undefined)
        throw usageError(`${sanitize(text)} is not a process and its number of instances, such as worker=2.`);
      return [process, Number(digits)];
    }),
  );
}

export const appsDelete = defineCommand({
  words: 'apps delete',
  summary: 'Delete an app; it can be restored until it is purged',
  description:
    'The app is no longer served, everybody is signed out of it, and its URLs return 404. Its owners and tenant ' +
    `admins can still see its record. For ${deletedAppRetentionDays} days svc apps restore brings it back; then it is ` +
    'purged.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: deleteApp,
  ...lifecycleResult,
  examples: {
    'pet-shop': 'See what would change',
    'pet-shop --execute': 'Delete it',
  },
});

export const appsRestore = defineCommand({
  words: 'apps restore',
  summary: 'Restore a deleted app',
  description:
    'The app is restored with its rows, but does not run until svc apps resume. Users must sign in again.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: restoreApp,
  ...lifecycleResult,
  examples: {
    'pet-shop': 'See what would change',
    'pet-shop --execute': 'Bring it back',
  },
});

export const appsPurge = defineCommand({
  words: 'apps purge',
  summary: 'Permanently remove a deleted app and all its data',
  description:
    'The preview lists what would be lost. The slug becomes available at once; the subdomain stays reserved for the ' +
    `tenant for ${namesReservedDays} days.`,
  kind: 'mutate',
  confirm: 'typed',
  positionals: [appPositional],
  endpoint: purgeApp,
  text: ({ slug, removed }) => {
    const lines = Object.entries(removed).filter(([, count]) => count > 0);
    const width = Math.max(0, ...lines.map(([name]) => name.length));
    const named = lines.map(([name, count]) => `  ${name.replaceAll('_', ' ').padEnd(width)}  ${count}\n`);
    return [
      `${sanitize(slug)} is purged.\n`,
      ...(named.length === 0 ? [] : ['Also removed:\n']),
      ...named,
    ].join('');
  },
  examples: { 'pet-shop --execute --yes': 'Purge it without confirmation' },
});
