const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `500ms`, `6s`, `10m`, `1h` in milliseconds; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, amount, unit] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
  const ms = unitMs[unit ?? ''];
  return ms === undefined ? null : Number(amount) * ms;
}
