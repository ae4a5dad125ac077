const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;
const timeName = /(?:^|[_ ])(?:at|since|after|until)$/;

const units = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Whether the platform wrote this value as a time; rows of apps are shown as they are. */
export function isTime(name: string, value: unknown): value is string {
  return typeof value === 'string' && timeName.test(name) && timeForm.test(value);
}

/** `3 minutes ago`, `in 89 days`. Intl.RelativeTimeFormat would double the start-up time. */
export function relativeTime(time: string, now: Date): string {
  const seconds = Math.round((Date.parse(time) - now.getTime()) / 1000);
  const distance = Math.abs(seconds);
  for (const [unit, size] of units) {
    if (distance < size) continue;
    const count = Math.floor(distance / size);
    const text = `${count} ${unit}${count === 1 ? '' : 's'}`;
    return seconds < 0 ? `${text} ago` : `in ${text}`;
  }
  return seconds <= 0 ? 'just now' : 'in less than a minute';
}

/** A single record has room for both; a table shows one. */
export function relativeAndExact(time: string, now: Date): string {
  return `${relativeTime(time, now)} (${time.replace(/\.\d+Z$/, 'Z')})`;
}
