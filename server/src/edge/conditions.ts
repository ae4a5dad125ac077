/**
 * If-None-Match and If-Match (RFC 9110, 13.1): a list of tags, or `*`. What can not be read ends the list. `weak` takes
 * `W/"a"` for `"a"`: whoever has the bytes in some form has them.
 */
export function listsTag(header: string, tag: string, comparison: 'weak' | 'strong'): boolean {
  if (header === tag || header.trim() === '*') return true;
  const item = /[\t ,]*(W\/)?("[\x21\x23-\x7e\x80-\uffff]*")[\t ]*(?=,|$)/y;
  for (let match = item.exec(header); match; match = item.exec(header)) {
    const [, weakness, opaque] = match;
    if (opaque === tag && (comparison === 'weak' || weakness === undefined)) return true;
  }
  return false;
}
