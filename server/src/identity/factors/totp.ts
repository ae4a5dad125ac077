import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** RFC 6238 with the values that every authenticator app supports: SHA-1, six digits, thirty seconds. */
const stepSeconds = 30;
const secretBytes = 20;
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

export function newTotpSecret(): string {
  return toBase32(randomBytes(secretBytes)).toUpperCase();
}

/** The step of the code, or null. A code of the step before or after is accepted, for clocks that differ. */
export function findTotpStep(secret: string, code: string, { now, after }: { now: Date; after: number }) {
  const step = Math.floor(now.getTime() / 1000 / stepSeconds);
  const presented = Buffer.from(code.replace(/\s/g, ''));
  const found = [step, step - 1, step + 1].find((candidate) => {
    const expected = Buffer.from(totpCode(secret, candidate));
    return presented.length === expected.length && timingSafeEqual(presented, expected);
  });
  return found !== undefined && found > after ? found : null;
}

export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 0xf;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

export function totpUri({ secret, email, host }: { secret: string; email: string; host: string }): string {
  const query = new URLSearchParams({ secret, issuer: host });
  return `otpauth://totp/${encodeURIComponent(host)}:${encodeURIComponent(email)}?${query}`;
}

/** RFC 4648, without padding. */
export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => alphabet[Number.parseInt(group.padEnd(5, '0'), 2)])
    .join('');
}

function fromBase32(text: string): Buffer {
  const bits = [...text.toLowerCase()]
    .map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** An SVG without styles or scripts: black on white in either theme, because readers need the contrast. */
export async function qrCode(text: string): Promise<string> {
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: 2 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="192" height="192" role="img" aria-label="QR code"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}
