import { keptLinesMax } from '../log/log-line.ts';

/** How much of a log is looked at. */
export const logRanges = ['recent', '5m', '1h', '24h', 'all'] as const;
export type LogRange = (typeof logRanges)[number];

const minutes: Record<LogRange, number | null> = {
  ...{ recent: null, all: null },
  ...{ '5m': 5, '1h': 60, '24h': 24 * 60 },
};

export const rangeLabels: Record<LogRange, string> = {
  recent: 'The last 1,000 lines',
  '5m': 'The last 5 minutes',
  '1h': 'The last hour',
  '24h': 'The last 24 hours',
  all: `The last ${keptLinesMax.toLocaleString('en')} lines`,
};

/** Of lines before this none is shown; null: it does not hang on the time. */
export function rangeStart(range: LogRange, now: Date): Date | null {
  const length = minutes[range];
  return length === null ? null : new Date(now.getTime() - length * 60_000);
}
