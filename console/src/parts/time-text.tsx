import { Text, Tooltip } from '@mantine/core';

/** When it was, as people say it; the exact time is a touch away. */
export function TimeText({ value, empty = '–' }: { value: string | null; empty?: string }) {
  if (value === null || value === '') return <>{empty}</>;
  const exact = new Date(value).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  return (
    <Tooltip label={exact} events={{ hover: true, focus: true, touch: true }}>
      <Text span inherit component="time" dateTime={value} title={exact}>
        {relativeTime(new Date(value).getTime() - Date.now())}
      </Text>
    </Tooltip>
  );
}

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function relativeTime(ms: number): string {
  const unit = units.find(([, length]) => Math.abs(ms) >= length);
  return unit ? words.format(Math.round(ms / unit[1]), unit[0]) : 'just now';
}
