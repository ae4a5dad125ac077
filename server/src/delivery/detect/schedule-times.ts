import { Cron } from 'croner';

export interface PlannedSchedule {
  name: string;
  cron: string;
  timezone: string;
  /** One of both is null. */
  command: string | null;
  path: string | null;
  timeoutSeconds: number;
}

type Times = Pick<PlannedSchedule, 'cron' | 'timezone'>;

/**
 * The first time after `after`; null if there is none. When clocks are set forward, a fixed time that does not exist
 * comes at the first moment after the gap; when they are set back, it comes once, the first time.
 */
export function nextTime({ cron, timezone }: Times, after: Date): Date | null {
  return new Cron(cron, { timezone, paused: true }).nextRun(after);
}

/** The newest times from `from`, which is one of them, to `until`; oldest first. */
export function dueTimes(
  times: Times,
  { from, until, max }: { from: Date; until: Date; max: number },
): Date[] {
  const second = nextTime(times, from);
  if (second === null || second > until) return [from];
  // The reference itself is not among them.
  const reference = new Date(until.getTime() + 1_000);
  return new Cron(times.cron, { timezone: times.timezone, paused: true })
    .previousRuns(max + 1, reference)
    .filter((time) => time >= from && time <= until)
    .slice(0, max)
    .reverse();
}

export function findScheduleProblem(times: Times): string | null {
  try {
    return nextTime(times, new Date()) === null ? `“${times.cron}” never comes.` : null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
