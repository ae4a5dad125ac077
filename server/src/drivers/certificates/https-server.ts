import { createPrivateKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { type HttpsListener, openHttpsListener } from '../../http/https-listener.ts';
import type { RawListenerOptions, TlsKeyPair } from '../../http/raw-http/raw-listener.ts';

export interface HttpsConfig {
  port: number;
  files: { cert: string; key: string } | null;
}

export interface HttpsServer extends HttpsListener {
  readOwn(): TlsKeyPair;
  covers(host: string): boolean;
}

export function openHttpsServer(
  https: HttpsConfig | null,
  listener: Omit<RawListenerOptions, 'port'>,
  isServed: (host: string) => boolean,
): HttpsServer | null {
  if (!https) return null;
  const own = https.files ? watchFiles(https.files, listener.log) : usePlaceholder();
  const opened = openHttpsListener({
    ...listener,
    port: https.port,
    isServed,
    defaultCertificate: own.readOwn(),
  });
  return { ...opened, ...own };
}

type ServerCertificate = Pick<HttpsServer, 'readOwn' | 'covers'>;

function usePlaceholder(): ServerCertificate {
  const pair = placeholderCertificate();
  return { readOwn: () => pair, covers: () => false };
}

function watchFiles(files: TlsKeyPair, log: Logger): ServerCertificate {
  let last: { pair: TlsKeyPair; certificate: X509Certificate } | null = null;
  return {
    readOwn() {
      try {
        last = readPair(files);
      } catch (error) {
        // On start this is an error; later, the files may be half-written during a renewal.
        if (last === null) throw error;
        log.warn({ err: error }, 'operator certificate unreadable; using the previous one');
      }
      return last.pair;
    },
    covers: (host) => last?.certificate.checkHost(host) !== undefined,
  };
}

function readPair(files: TlsKeyPair): { pair: TlsKeyPair; certificate: X509Certificate } {
  const pair = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
  const certificate = new X509Certificate(pair.cert);
  if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
    throw new Error(`${files.key} is not the key of ${files.cert}.`);
  return { pair, certificate };
}

export function secureOrigin(
  { https, baseUrl }: { https: HttpsConfig | null; baseUrl: string },
  host: string,
): string {
  const base = new URL(baseUrl);
  const port = base.protocol === 'https:' ? base.port : (https?.port ?? '');
  return new URL(`https://${host}:${port}`).origin;
}

/** No client can trust this certificate: it is self-signed, names no host and expired in 1970. */
export function placeholderCertificate(): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(
    der(0x31, sequence(commonName, der(0x0c, Buffer.from('no certificate for this name')))),
  );
  const epoch = der(0x17, Buffer.from('700101000000Z'));
  // Version 1, which has no extensions and therefore no host names.
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
const signatureAlgorithm = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
