import type { CodeRow } from './store.ts';

/** Exactly at the origin that it was made for. */
export function isGoodAt(code: CodeRow, { origin, now }: { origin: string; now: Date }): boolean {
  return code.expires_at > now && code.origin === origin;
}
