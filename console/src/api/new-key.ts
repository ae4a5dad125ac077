const keyBytes = 16;

/** Told from all others. By random bytes: `randomUUID` is there over https and on localhost alone. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(keyBytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
