/** `"3"` for version 3: what a later change sends as If-Match. */
export function etagOf(record: { version: number }): string {
  return `"${record.version}"`;
}

/** If-None-Match: the caller has this very version already. */
export function knowsEtag(ifNoneMatch: string | null, etag: string): boolean {
  const sent = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return sent.includes('*') || sent.includes(etag);
}

/** If-Match as a list or `*`; absent means the caller does not mind. Weak tags never match: a change needs certainty. */
export function matchesEtag(ifMatch: string | undefined, etag: string): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '*') return true;
  return ifMatch.split(',').some((tag) => tag.trim() === etag);
}
