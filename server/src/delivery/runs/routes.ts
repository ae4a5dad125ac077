import * as shapes from '@svc/contract/runs.shapes.ts';
import * as endpoints from '@svc/contract/runs.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { type Route, routes } from '../../http/router.ts';
import type { LogWaits } from '../logs/read-lines.ts';
import { cancelRun, createRun, getRun, listRuns, readRunLog } from './runs.ts';
import { listScheduleRuns, listSchedules, runSchedule } from './schedules.ts';

export const runRoutes = (deps: { runtime: Runtime; waits: LogWaits }): Route[] =>
  routes(endpoints, shapes, {
    createRun: (ctx, { body }) =>
      createRun(ctx, { command: body.command, timeoutSeconds: body.timeout_seconds }, deps),
    listRuns: (ctx, { query }) => listRuns(ctx, query),
    getRun: (ctx, { params }) => getRun(ctx, { id: params.run }),
    readRunLog: (ctx, { params, query }) => readRunLog(ctx, { id: params.run, query }, deps),
    cancelRun: (ctx, { params }) => cancelRun(ctx, { id: params.run }),
    listSchedules: (ctx, { query }) => listSchedules(ctx, query),
    listScheduleRuns: (ctx, { params, query }) => listScheduleRuns(ctx, { name: params.name }, query),
    runSchedule: (ctx, { params }) => runSchedule(ctx, { name: params.name }, deps),
  });
