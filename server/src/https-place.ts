import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Config, HttpsConfig } from './config.ts';
import { placeholderCertificate } from './drivers/certificates/placeholder-certificate.ts';
import { type HttpsListener, openHttpsListener, type TlsPair } from './plumbing/https-listener.ts';
import type { Answering } from './plumbing/serve.ts';

export interface HttpsPlace extends HttpsListener {
  /** What those who name no custom domain are shown, as it is now: the operator may renew it. */
  readOwn(): TlsPair;
}

/** TLS at a port of its own, answering as the plain one does; null where none is configured. */
export function openHttpsPlace(
  { https, host }: Pick<Config, 'https' | 'host'>,
  log: Logger,
  answering: Answering,
  isServed: (host: string) => boolean,
): HttpsPlace | null {
  if (!https) return null;
  const readOwn = readerOf(https, log);
  const place = { host, port: https.port, answering, isServed };
  return { ...openHttpsListener({ ...place, otherwise: readOwn() }), readOwn };
}

function readerOf({ files }: HttpsConfig, log: Logger): () => TlsPair {
  if (!files) {
    const placeholder = placeholderCertificate();
    return () => placeholder;
  }
  let last: TlsPair | null = null;
  return () => {
    try {
      last = readPair(files);
    } catch (error) {
      // At the start that is for the operator to see; later on it may be in the middle of a renewal.
      if (last === null) throw error;
      log.warn({ err: error }, 'the certificate of the operator can not be read; the last one is kept');
    }
    return last;
  };
}

function readPair(files: { cert: string; key: string }): TlsPair {
  const pair = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
  if (!new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key)))
    throw new Error(`${files.key} is not the key of ${files.cert}.`);
  return pair;
}

/**
 * The platform's address as custom domains are reached: by HTTPS where TLS ends here. Its port is that of the platform's
 * own address where that is HTTPS, too, since a port can be another one outside.
 */
export function domainsBaseUrl({ https, baseUrl }: Pick<Config, 'https' | 'baseUrl'>): string {
  const base = new URL(baseUrl);
  if (!https || base.protocol === 'https:') return baseUrl;
  return new URL(`https://${base.hostname}:${https.port}`).origin;
}

/** Where a host with a certificate is reached. */
export function secureOrigin(config: Pick<Config, 'https' | 'baseUrl'>, host: string): string {
  const { port } = new URL(domainsBaseUrl(config));
  return `https://${host}${port === '' ? '' : `:${port}`}`;
}
