/** `30 minutes`, `8 hours`, `2 days`. */
export function hoursText(seconds: number): string {
  if (seconds < 3600) return `${Math.round(seconds / 60)} minutes`;
  const hours = Math.round(seconds / 360) / 10;
  if (hours < 48 || hours % 24 !== 0) return hours === 1 ? '1 hour' : `${hours} hours`;
  return `${hours / 24} days`;
}
