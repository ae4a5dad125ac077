import { appLogLinesKept } from '@svc/contract/deployments.ts';
import type { Logger } from 'pino';
import type { Db } from '../plumbing/db.ts';
import { deleteOldAppLines, deleteOldBuildLines, listAppsWithLines } from './store.ts';

/** Of an app: those that were made last. */
const buildLogsKept = 50;
/** Well within the time that a statement has. */
const linesAtOnce = 5_000;

/** What apps and builds have written beyond what is kept. */
export async function sweepLogs({ db, log }: { db: Db; log: Logger }): Promise<void> {
  for (const appId of await listAppsWithLines(db)) {
    // One app's trouble is not the others'.
    await sweepLogsOf(db, appId).catch((error: unknown) =>
      log.error({ err: error, app: appId }, 'could not sweep the log of an app'),
    );
  }
}

async function sweepLogsOf(db: Db, appId: string): Promise<void> {
  const app = { kept: appLogLinesKept, atOnce: linesAtOnce };
  while (await deleteOldAppLines(db, appId, app));
  const build = { deploymentsKept: buildLogsKept, atOnce: linesAtOnce };
  while (await deleteOldBuildLines(db, appId, build));
}
