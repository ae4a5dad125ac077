/** `"3"` for version 3: what a later change sends as If-Match. */
export function etagOf(record: { version: number }): string {
  return `"${record.version}"`;
}

/** If-Match as a list or `*`; absent means the caller does not mind. Weak tags never match: a change needs certainty. */
export function matchesEtag(ifMatch: string | undefined, etag: string): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '*') return true;
  return ifMatch.split(',').some((tag) => tag.trim() === etag);
}
