import { generateKeyPairSync, sign } from 'node:crypto';

/**
 * For those who come without a name, or with one that has no certificate here: a handshake needs some certificate.
 * Nobody is to take it for a real one: it is signed by itself, names no host and has been over since 1970.
 */
export function placeholderCertificate(): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(
    der(0x31, sequence(commonName, der(0x0c, Buffer.from('no certificate for this name')))),
  );
  const epoch = der(0x17, Buffer.from('700101000000Z'));
  // Version 1, which has no extensions: they are what a host would be named in.
  const body = sequence(
    der(0x02, Buffer.from([1])),
    signatureAlgorithm,
    name,
    sequence(epoch, epoch),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]));
  const whole = sequence(body, signatureAlgorithm, signature).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** ASN.1 as certificates have it: what it is, how long it is, and that. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  let size = [length];
  if (length > 0xff) size = [0x82, length >> 8, length & 0xff];
  else if (length > 0x7f) size = [0x81, length];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

const commonName = Buffer.from('0603550403', 'hex');
/** ECDSA with SHA-256. */
const signatureAlgorithm = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
