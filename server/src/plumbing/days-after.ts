const dayMs = 24 * 60 * 60 * 1000;

export function daysAfter(from: Date, days: number): Date {
  return new Date(from.getTime() + days * dayMs);
}
