import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';

/** The response of a new authenticator to the options of a registration (WebAuthn, attestation `none`). */
export function registerPasskey(
  options: { challenge: string; rp: { id?: string } },
  origin: string,
): Record<string, unknown> {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const credentialId = randomBytes(16);
  // COSE: key type EC2, algorithm ES256, curve P-256, and the two coordinates.
  const head = Buffer.from('a5010203262001215820', 'hex');
  const key = Buffer.concat([head, fromBase64(x), Buffer.from('225820', 'hex'), fromBase64(y)]);
  const data = Buffer.concat([
    createHash('sha256')
      .update(options.rp.id ?? new URL(origin).hostname)
      .digest(),
    // User present and verified, with a credential; counter zero.
    Buffer.from('4500000000', 'hex'),
    Buffer.alloc(16),
    Buffer.from([0, credentialId.length]),
    credentialId,
    key,
  ]);
  // CBOR: {fmt: "none", attStmt: {}, authData: bytes}
  const attestation = Buffer.concat([
    Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
    Buffer.from([0x58, data.length]),
    data,
  ]);
  const client = JSON.stringify({ type: 'webauthn.create', challenge: options.challenge, origin });
  const id = credentialId.toString('base64url');
  return {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: Buffer.from(client).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    },
  };
}

const fromBase64 = (text: string) => Buffer.from(text, 'base64url');

/** RFC 6238: the code that an authenticator app shows, `steps` half-minutes from now. */
export function totpCode(secret: string, steps = 0): string {
  const bits = [...secret]
    .map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = hash[19]! & 0xf;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
