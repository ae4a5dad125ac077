import { BlockList, isIP } from 'node:net';
import type { JSONWebKeySet } from 'jose';
import { lookUpAddresses } from '../os/listen.ts';

export class IssuerError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IssuerError';
  }
}

export interface IssuerKeys {
  check(issuer: string): void;
  /** The public keys of the issuer. `newerThan`: only keys that were fetched later, if the issuer may be asked again. */
  get(issuer: string, newerThan?: number): Promise<{ keys: JSONWebKeySet; fetchedAt: number }>;
}

interface IssuerKeysOptions {
  trusted: readonly string[];
  now: () => number;
  resolve?: (host: string) => Promise<string[]>;
}

const cachedMs = 10 * 60_000;
const pauseMs = 10_000;
const responseMsMax = 5_000;
const bodyBytesMax = 256 * 1024;
const issuersMax = 1_000;

interface Entry {
  keys: JSONWebKeySet | null;
  fetchedAt: number;
  error: IssuerError | null;
  loading: Promise<void> | null;
}

export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { now, trusted } = options;
  const entries = new Map<string, Entry>();
  const resolve = options.resolve ?? lookUpAddresses;
  const trustedOrigins = new Set(trusted.map((issuer) => new URL(issuer).origin));

  async function load(issuer: string): Promise<JSONWebKeySet> {
    const discovered = await fetchJson(`${issuer}/.well-known/openid-configuration`);
    // A document of another issuer could name other keys (OpenID Connect Discovery §4.3).
    if (discovered.issuer !== issuer) throw new IssuerError(`${issuer} describes another issuer.`);
    const { jwks_uri } = discovered;
    if (typeof jwks_uri !== 'string') throw new IssuerError(`${issuer} has no jwks_uri.`);
    const set = await fetchJson(jwks_uri);
    if (!Array.isArray(set.keys)) throw new IssuerError(`${issuer} has no keys.`);
    return set as unknown as JSONWebKeySet;
  }

  /** Public addresses only. A name that changes after the check fails by the certificate of the private service. */
  async function fetchJson(text: string): Promise<Record<string, unknown>> {
    const url = URL.parse(text);
    if (!url) throw new IssuerError(`${text} is not a URL.`);
    if (!trustedOrigins.has(url.origin)) {
      requirePublicUrl(url);
      const addresses = isIP(bareHost(url)) ? [bareHost(url)] : await resolve(url.hostname);
      if (addresses.length === 0) throw new IssuerError(`${url.hostname} has no address.`);
      if (!addresses.every(isPublic)) throw new IssuerError(privateText(url));
    }
    let response: Response;
    try {
      response = await fetch(url, {
        redirect: 'manual',
        headers: { accept: 'application/json' },
        signal: AbortSignal.timeout(responseMsMax),
      });
    } catch (cause) {
      throw new IssuerError(`${url.origin} does not respond.`, { cause });
    }
    if (response.status !== 200) throw new IssuerError(`${url.href} answered ${response.status}.`);
    const body = await readText(response);
    try {
      const value: unknown = JSON.parse(body);
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
    } catch {
      // Falls through to the same error.
    }
    throw new IssuerError(`${url.href} did not answer with JSON.`);
  }

  async function refresh(entry: Entry, issuer: string): Promise<void> {
    try {
      entry.keys = await load(issuer);
      entry.error = null;
    } catch (error) {
      entry.error =
        error instanceof IssuerError ? error : new IssuerError(`${issuer} failed.`, { cause: error });
    } finally {
      entry.fetchedAt = now();
      entry.loading = null;
    }
  }

  return {
    check(issuer) {
      const url = new URL(issuer);
      if (!trustedOrigins.has(url.origin)) requirePublicUrl(url);
    },
    async get(issuer, newerThan = 0) {
      const entry = entries.get(issuer) ?? { keys: null, fetchedAt: -pauseMs, error: null, loading: null };
      // Deleted and set again, so that the map is ordered by last use.
      entries.delete(issuer);
      entries.set(issuer, entry);
      const oldest = entries.size > issuersMax ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
      const age = now() - entry.fetchedAt;
      const isOld = age >= cachedMs || entry.keys === null || entry.error !== null;
      if ((isOld || entry.fetchedAt <= newerThan) && age >= pauseMs) entry.loading ??= refresh(entry, issuer);
      await entry.loading;
      if (entry.error) throw entry.error;
      if (!entry.keys) throw new IssuerError(`${issuer} has no keys.`);
      return { keys: entry.keys, fetchedAt: entry.fetchedAt };
    },
  };
}

function requirePublicUrl(url: URL): void {
  const host = bareHost(url);
  if (url.protocol !== 'https:') throw new IssuerError(`${url.origin} must use https.`);
  if (
    isIP(host) !== 0 ? !isPublic(host) : !host.includes('.') || /(^|\.)(localhost|local|internal)$/.test(host)
  )
    throw new IssuerError(privateText(url));
}

const privateText = ({ origin }: URL) =>
  `${origin} is in a private network. The operator can allow it with SVC_TRUSTED_ISSUERS.`;

const bareHost = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '');

/** RFC 6890 and its registries. */
const reserved = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  reserved.addSubnet(network, bits, 'ipv4');

/** IPv6: the global unicast range, without the parts that contain IPv4 addresses or are for documents. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
const reserved6 = new BlockList();
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
] as const)
  reserved6.addSubnet(network, bits, 'ipv6');

export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !reserved.check(address, 'ipv4');
  return isIP(address) === 6 && globalUnicast.check(address, 'ipv6') && !reserved6.check(address, 'ipv6');
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bodyBytesMax) throw new IssuerError(`${new URL(response.url).origin} sent too much.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}
