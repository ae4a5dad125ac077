/** Durations as people type them: `500ms`, `6s`, `10m`, `1h`, `30d`, or several units, `1h30m`. */

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest that a timer can hold is 24.8 days; longer values are for dates, not for waiting. */
const durationMsMax = 100 * 365 * 86_400_000;

/** Milliseconds, or `null` where the text is not a duration. */
export function parseDuration(text: string): number | null {
  if (!/^(?:\d{1,12}(?:\.\d{1,6})?(?:ms|s|m|h|d))+$/.test(text)) return null;
  let total = 0;
  let largest = Number.POSITIVE_INFINITY;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    const ms = unitMs[unit ?? ''] ?? 0;
    // `1s1h` is more likely a slip than a wish.
    if (ms >= largest) return null;
    largest = ms;
    total += Number(amount) * ms;
  }
  return total <= durationMsMax ? Math.round(total) : null;
}

export function formatDuration(totalMs: number): string {
  if (totalMs === 0) return '0s';
  let left = totalMs;
  let text = '';
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const ms = unitMs[unit] ?? 1;
    const count = Math.floor(left / ms);
    if (count > 0) text += `${count}${unit}`;
    left -= count * ms;
  }
  return text;
}
