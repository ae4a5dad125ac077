import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { LogPage, logQuery } from './deployments.shapes.ts';
import { scheduleNamePattern } from './manifest.ts';
import { runCommandCharsMax, runStates, runTimeoutSecondsDefault, runTimeoutSecondsMax } from './runs.ts';
import { page, pageQuery, text, timestamp, unchanged, uuid } from './shapes.ts';

const runParams = appParams.extend({ run: uuid });
const scheduleParams = appParams.extend({ name: z.string().regex(scheduleNamePattern) });

export const Run = z.object({
  id: uuid,
  app_id: uuid,
  deployment_id: uuid.nullable().meta({ description: 'The build that it ran in; null before its start.' }),
  schedule: z.string().nullable(),
  due_at: timestamp
    .nullable()
    .meta({ description: 'The time of the schedule; null if a person started it.' }),
  command: z.string().nullable(),
  path: z.string().nullable().meta({ description: 'Instead of a command: the path of a POST to the app.' }),
  timeout_seconds: z.int(),
  state: z.enum(runStates),
  exit_code: z.int().nullable().meta({ description: 'Null if the platform ended the command.' }),
  failure: z.string().nullable().meta({ description: 'Why it failed, or was not run.' }),
  lines_missing: z.int().meta({ description: 'Lines of its output that are not in its log.' }),
  created_by: uuid.nullable(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
});

export const createRun = {
  params: appParams,
  body: z.strictObject({
    command: text.min(1).max(runCommandCharsMax).meta({ description: 'For `/bin/sh -c`.' }),
    timeout_seconds: z.int().min(1).max(runTimeoutSecondsMax).default(runTimeoutSecondsDefault),
  }),
  answer: Run,
};
export const listRuns = { params: appParams, query: pageQuery, answer: page(Run) };
export const getRun = { params: runParams, answer: Run };
export const readRunLog = { params: runParams, query: logQuery, answer: LogPage };
export const cancelRun = { params: runParams, answer: Run.extend({ changed: unchanged }) };

export const Schedule = z.object({
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  command: z.string().nullable(),
  path: z.string().nullable(),
  timeout_seconds: z.int(),
  next_at: timestamp.nullable().meta({ description: 'Null if it never comes, or the app does not run.' }),
  last: Run.nullable().meta({ description: 'The newest run that has ended.' }),
});
export const listSchedules = { params: appParams, query: pageQuery, answer: page(Schedule) };
export const listScheduleRuns = { params: scheduleParams, query: pageQuery, answer: page(Run) };
export const runSchedule = { params: scheduleParams, answer: Run };
