import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { placeholderCertificate } from './drivers/certificates/placeholder-certificate.ts';
import { type HttpsListener, openHttpsListener, type TlsPair } from './plumbing/https-listener.ts';
import type { Answering } from './plumbing/serve.ts';

export interface HttpsPlace extends HttpsListener {
  /** What those who name no custom domain are shown, as it is now: the operator may renew it. */
  readOwn(): TlsPair;
  /** Whether that names the host, as of when it was last read; a placeholder names none. */
  covers(host: string): boolean;
}

/** TLS at a port of its own, answering as the plain one does; null where none is configured. */
export function openHttpsPlace(
  { https, host }: Pick<Config, 'https' | 'host'>,
  log: Logger,
  answering: Answering,
  isServed: (host: string) => boolean,
): HttpsPlace | null {
  if (!https) return null;
  const own = https.files ? openFiles(https.files, log) : placeholder();
  const place = { host, port: https.port, answering, isServed };
  return { ...openHttpsListener({ ...place, otherwise: own.readOwn() }), ...own };
}

type Own = Pick<HttpsPlace, 'readOwn' | 'covers'>;

function placeholder(): Own {
  const pair = placeholderCertificate();
  return { readOwn: () => pair, covers: () => false };
}

function openFiles(files: TlsPair, log: Logger): Own {
  let last: { pair: TlsPair; certificate: X509Certificate } | null = null;
  return {
    readOwn() {
      try {
        last = readPair(files);
      } catch (error) {
        // At the start that is for the operator to see; later on it may be in the middle of a renewal.
        if (last === null) throw error;
        log.warn({ err: error }, 'the certificate of the operator can not be read; the last one is kept');
      }
      return last.pair;
    },
    covers: (host) => last?.certificate.checkHost(host) !== undefined,
  };
}

function readPair(files: TlsPair): { pair: TlsPair; certificate: X509Certificate } {
  const pair = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
  const certificate = new X509Certificate(pair.cert);
  if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
    throw new Error(`${files.key} is not the key of ${files.cert}.`);
  return { pair, certificate };
}

/**
 * Where a host with a certificate is reached. The port is that of the platform's own address where that is HTTPS, too,
 * since a port can be another one outside.
 */
export function secureOrigin({ https, baseUrl }: Pick<Config, 'https' | 'baseUrl'>, host: string): string {
  const base = new URL(baseUrl);
  const port = base.protocol === 'https:' ? base.port : (https?.port ?? '');
  return new URL(`https://${host}:${port}`).origin;
}
