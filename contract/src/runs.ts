import { act, change, deployers, deployersOrAdmin, read } from './endpoint.ts';
import type * as shapes from './runs.shapes.ts';

export const runStates = [
  'queued',
  'running',
  'succeeded',
  'failed',
  'canceled',
  /** A scheduled run that no server could start in time. */
  'missed',
  /** A scheduled run whose predecessor had not ended. */
  'skipped',
] as const;
export const runEndStates = ['succeeded', 'failed', 'canceled', 'missed', 'skipped'] as const;

export const runCommandCharsMax = 8_000;
export const runTimeoutSecondsDefault = 3_600;
export const runTimeoutSecondsMax = 24 * 3_600;
/** Limit for one app; further runs wait. */
export const runsAtOnceMax = 5;
/** Open runs of one app that people have started. */
export const runsOpenMax = 5;
export const runRetentionDays = 30;
/** Limit for each app; the logs of older runs are deleted. */
export const retainedRunLogs = 200;
/** Of one run; what is printed after them is counted. A program that is faster than its log waits. */
export const runLogLinesMax = 100_000;
export const runLogBytesMax = 64 * 1024 * 1024;

const app = '/api/v1/tenants/{tenantID}/apps/{app}';
const collection = `${app}/runs`;
const one = `${collection}/{run}`;

export const createRun = change<typeof shapes.createRun>()({
  id: 'runs.create',
  path: collection,
  summary: 'Run a command once, in the live build and with the environment of the app',
  ...deployers,
  errors: ['app_not_active', 'app_suspended', 'nothing_deployed', 'runtime_unsupported', 'limit_reached'],
  perMinuteMax: 120,
});

export const listRuns = read<typeof shapes.listRuns>()({
  id: 'runs.list',
  path: collection,
  summary: 'List the commands that people have run in an app, newest first',
  ...deployersOrAdmin,
});

export const getRun = read<typeof shapes.getRun>()({
  id: 'runs.get',
  path: one,
  summary: 'Get a run',
  ...deployersOrAdmin,
});

export const readRunLog = read<typeof shapes.readRunLog>()({
  id: 'runs.logs',
  path: `${one}/logs`,
  summary: 'Get the output of a run',
  ...deployers,
  errors: ['invalid_cursor'],
});

export const cancelRun = act<typeof shapes.cancelRun>()({
  id: 'runs.cancel',
  path: `${one}/cancel`,
  summary: 'Cancel a run; its command gets SIGTERM, and SIGKILL ten seconds later',
  ...deployers,
  errors: ['not_cancelable'],
});

const schedules = `${app}/schedules`;

export const listSchedules = read<typeof shapes.listSchedules>()({
  id: 'schedules.list',
  path: schedules,
  summary: 'List the schedules of the live deployment, with the next time and the last run of each',
  ...deployersOrAdmin,
});

export const listScheduleRuns = read<typeof shapes.listScheduleRuns>()({
  id: 'schedules.runs',
  path: `${schedules}/{name}/runs`,
  summary: 'List the runs of a schedule, newest first, with times that were missed or skipped',
  ...deployersOrAdmin,
});

export const runSchedule = change<typeof shapes.runSchedule>()({
  id: 'schedules.run',
  path: `${schedules}/{name}/run`,
  summary: 'Run a schedule now, in addition to its times',
  ...deployers,
  errors: ['app_not_active', 'app_suspended', 'nothing_deployed', 'runtime_unsupported', 'limit_reached'],
  perMinuteMax: 120,
});
