/** JSON with sorted keys: equal values give equal text, so that hashes can be compared. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Equal as values: a change to what is there already is none. */
export function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

export function sha256(text: string | Uint8Array): string {
  return Bun.SHA256.hash(text, 'hex');
}
