import {
  cancelRun,
  createRun,
  getRun,
  listRuns,
  listScheduleRuns,
  listSchedules,
  readRunLog,
  runLogBytesMax,
  runLogLinesMax,
  runSchedule,
} from '@svc/contract/runs.ts';
import { defineCommand, deployCredential, describeCall } from '../command.ts';
import { logFlags } from '../deploy/flags.ts';
import { appFlag, pageFlags } from '../inputs/common.ts';
import { runView, scheduleRunView, scheduleView } from '../views/delivery.ts';

const runPositional = { name: 'run-id', summary: 'Id of the run, from list' } as const;
const schedulePositional = { name: 'name', summary: 'Name of the schedule, from list' } as const;
const exampleId = '01977777-7777-7777-8777-777777777777';

export const runOnce = defineCommand({
  words: 'run',
  summary: 'Run a command once in the live build and environment of an app',
  description:
    'The command runs at once, beside the instances of the app, with its variables and limits, and in a copy of its files that is ' +
    'removed afterwards. Standard output and standard error are passed on, and its exit code is the exit code of svc run. One ' +
    'argument is a line for the shell; several are a program and its arguments. Ctrl-C stops the command (exit 130), and so does ' +
    `--timeout, at most 24h (exit 10). Exit 9 if the platform ended it. The command waits while its output comes faster than it is ` +
    `stored; after ${runLogLinesMax} lines or ${runLogBytesMax / 1024 / 1024} MiB the rest is missing, which a warning says. ` +
    `With --json the output is on standard error. ${deployCredential}`,
  kind: 'act',
  credential: 'login_or_pat',
  timeoutDefault: '1h',
  calls: `${describeCall(createRun)}, then ${describeCall(readRunLog)} and ${describeCall(getRun)}`,
  positionals: [{ name: 'command', summary: 'Command, after --', repeated: true }],
  flags: appFlag,
  run: async (ctx, { positionals, flags }) => {
    const { runCommand } = await import('../deploy/run-command.ts');
    return runCommand(ctx, { app: flags.app, words: positionals.command });
  },
  output: async () => (await import('@svc/contract/runs.shapes.ts')).Run,
  examples: {
    '--app pet-shop -- npm run migrate': 'Run a script',
    "--app pet-shop --timeout 10m -- 'node report.js | gzip >/tmp/report.gz'": 'Run a line of the shell',
  },
});

export const runsList = defineCommand({
  words: 'runs list',
  summary: 'List the commands that people have run in an app',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listRuns,
  view: runView,
  examples: { '--app pet-shop': 'List them' },
});

export const runsGet = defineCommand({
  words: 'runs get',
  summary: 'Show a run: its command, state and exit code',
  kind: 'read',
  positionals: [runPositional],
  flags: appFlag,
  endpoint: getRun,
  view: runView,
  examples: { [`${exampleId} --app pet-shop`]: 'Show it' },
});

export const runsLogs = defineCommand({
  words: 'runs logs',
  summary: 'Show the output of a run',
  description:
    'With --follow the command ends with the run, with its exit code, or at Ctrl-C (exit 130), which does not stop the run.',
  kind: 'read',
  credential: 'login_or_pat',
  timeoutDefault: '24h',
  calls: `${describeCall(readRunLog)}, with --follow at the end ${describeCall(getRun)}`,
  positionals: [runPositional],
  flags: { ...appFlag, ...logFlags },
  run: async (ctx, { positionals, flags }) => {
    const [{ showLog }, { followRunLog }, { resolveTenant }] = await Promise.all([
      import('../deploy/logs.ts'),
      import('../deploy/run-command.ts'),
      import('../session/tenant.ts'),
    ]);
    const params = { tenantID: await resolveTenant(ctx), app: flags.app };
    const run = positionals['run-id'];
    if (flags.follow) return followRunLog(ctx, { params, run, tail: flags.tail });
    return showLog(ctx, { log: 'run', ...params, run }, flags.tail);
  },
  output: async () => (await import('../output/schemas.ts')).logSchema,
  examples: { [`${exampleId} --app pet-shop`]: 'Show all of it' },
});

export const runsCancel = defineCommand({
  words: 'runs cancel',
  summary: 'Cancel a run; its command gets SIGTERM, and SIGKILL ten seconds later',
  kind: 'mutate',
  positionals: [runPositional],
  flags: appFlag,
  endpoint: cancelRun,
  view: runView,
  examples: { [`${exampleId} --app pet-shop --execute`]: 'Cancel it' },
});

export const schedulesList = defineCommand({
  words: 'schedules list',
  summary: 'List the schedules of an app, with the next time and the last result',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listSchedules,
  view: scheduleView,
  examples: { '--app pet-shop': 'List them' },
});

export const schedulesRuns = defineCommand({
  words: 'schedules runs',
  summary: 'List the runs of a schedule, with times that were missed or skipped',
  kind: 'read',
  positionals: [schedulePositional],
  flags: { ...appFlag, ...pageFlags },
  endpoint: listScheduleRuns,
  view: scheduleRunView,
  examples: { 'nightly-report --app pet-shop': 'List them' },
});

export const schedulesRun = defineCommand({
  words: 'schedules run',
  summary: 'Run a schedule now, in addition to its times',
  description:
    'The output is shown as it comes, and the exit code of its command is the exit code of this one; 9 if a POST request of the ' +
    'schedule fails. Ctrl-C (exit 130) does not stop the run.',
  kind: 'mutate',
  credential: 'login_or_pat',
  timeoutDefault: '24h',
  calls: `${describeCall(runSchedule)}, then ${describeCall(readRunLog)} and ${describeCall(getRun)}`,
  positionals: [schedulePositional],
  flags: { ...appFlag, detach: { type: 'boolean', summary: 'Do not wait for its end' } },
  run: async (ctx, { positionals, flags }) => {
    const { startSchedule } = await import('../deploy/run-command.ts');
    const until = flags.detach ? 'started' : 'ended';
    return startSchedule(ctx, { app: flags.app, name: positionals.name, until });
  },
  output: async () => (await import('@svc/contract/runs.shapes.ts')).Run,
  examples: { 'nightly-report --app pet-shop --execute': 'Run it now' },
});
