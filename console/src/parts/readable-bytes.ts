const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;

/** A number of bytes as people say it, in steps of 1,000 as file managers count. */
export function readableBytes(bytes: number): string {
  let at = 0;
  let value = bytes;
  while (value >= 1_000 && at < units.length - 1) {
    value /= 1_000;
    at += 1;
  }
  const unit = bytes === 1 ? 'byte' : units[at];
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}
