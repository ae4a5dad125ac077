/** Without vowels, so that no words come of it, and without what looks alike. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const half = 4;

/** `XXXX-XXXX`. */
export function newUserCode(): string {
  const pick = () => letters.charAt(randomBelow(letters.length));
  const part = () => Array.from({ length: half }, pick).join('');
  return `${part()}-${part()}`;
}

/** As people type it: in small letters, without the dash or with spaces. Null: it can not be one. */
export function typedUserCode(text: string): string | null {
  const plain = text.toUpperCase().replace(/[\s-]/g, '');
  if (plain.length !== half * 2 || ![...plain].every((letter) => letters.includes(letter))) return null;
  return `${plain.slice(0, half)}-${plain.slice(half)}`;
}

function randomBelow(limit: number): number {
  const bytes = new Uint8Array(1);
  // Numbers from there on would favour the first letters.
  const fairBelow = 256 - (256 % limit);
  for (;;) {
    const [byte = 255] = crypto.getRandomValues(bytes);
    if (byte < fairBelow) return byte % limit;
  }
}
