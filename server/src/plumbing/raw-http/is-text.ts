/** Whether this text is at this place; no string is made to find out. */
export function isText(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** Compared in small letters: no other byte of a token becomes a letter or `-` by it. */
export function isNamed(bytes: Uint8Array, at: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if (((bytes[at + index] ?? 0) | 0x20) !== name.charCodeAt(index)) return false;
  }
  return true;
}
