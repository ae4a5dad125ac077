import { crc32 } from 'node:zlib';

/**
 * `svcpat_`, 30 random base62 characters, 6 of checksum. The prefix lets scanners find a leaked token, the checksum
 * lets us refuse a mistyped or made-up one without asking the database.
 */
export function makePat(): string {
  const random = randomBase62(randomChars);
  return prefix + random + checksumOf(random);
}

export function isWellFormedPat(text: string): boolean {
  if (!pattern.test(text)) return false;
  const random = text.slice(prefix.length, prefix.length + randomChars);
  return text.endsWith(checksumOf(random));
}

const prefix = 'svcpat_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomChars = 30;
const checksumChars = 6;
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomChars + checksumChars}}$`);
/** The largest multiple of 62 in a byte: bytes from there on would favour the first letters. */
const fairBelow = 256 - (256 % alphabet.length);

function randomBase62(length: number): string {
  const bytes = new Uint8Array(length + 10);
  let text = '';
  while (text.length < length) {
    crypto.getRandomValues(bytes);
    for (const byte of bytes) {
      if (byte < fairBelow && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

function checksumOf(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let place = 0; place < checksumChars; place++) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
