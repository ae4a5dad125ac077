import { Cron } from 'croner';

export interface PlannedSchedule {
  name: string;
  cron: string;
  timezone: string;
  command: string | null;
  path: string | null;
  timeoutSeconds: number;
}

type Times = Pick<PlannedSchedule, 'cron' | 'timezone'>;

/** A time in the gap of clocks set forward comes at the first moment after it; with clocks set back, a time comes once, the first time. */
export function nextTime(times: Times, after: Date): Date | null {
  const next = patternsOf(times).flatMap((pattern) => pattern.nextRun(after) ?? []);
  return next.reduce<Date | null>((first, time) => (first === null || time < first ? time : first), null);
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
  const found = patternsOf(times)
    .flatMap((pattern) => pattern.previousRuns(max + 1, reference))
    .filter((time) => time >= from && time <= until)
    .map((time) => time.getTime());
  return [...new Set(found)]
    .sort((a, b) => a - b)
    .slice(-max)
    .map((time) => new Date(time));
}

/** croner fixes a time only if it is the only one of a pattern, so "15,45 2 * * *" becomes two patterns. */
function patternsOf({ cron, timezone }: Times): Cron[] {
  const options = { timezone, paused: true };
  // Reports what cannot be read, in the words of the whole pattern.
  const whole = new Cron(cron, options);
  const [minute = '', hour = '', ...days] = cron.trim().split(/\s+/);
  if (days.length !== 3 || !isFixed(minute) || !isFixed(hour)) return [whole];
  return valuesOf(hour).flatMap((h) =>
    valuesOf(minute).map((m) => new Cron([m, h, ...days].join(' '), options)),
  );
}

const isFixed = (field: string) => /^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(field);

function valuesOf(field: string): number[] {
  const values = field.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
  return [...new Set(values)];
}

export function findScheduleProblem(times: Times): string | null {
  try {
    return nextTime(times, new Date()) === null ? `“${times.cron}” never comes.` : null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
