import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { hostCharsMax } from '@svc/contract/domains.ts';
import { stagingSuffix } from '@svc/contract/static-sites.ts';
import { parse } from 'tldts';
import { fail, validationError } from '../../core/problem.ts';

/** Hosts of the platform, their parents and their subdomains cannot be custom domains. */
interface PlatformNames {
  appsDomain: string;
  baseUrl: string;
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Normalizes by the WHATWG URL rules, so that the result is the host that browsers request. */
export function parseHost(text: string): string {
  const input = text.trim().replace(/\.$/, '');
  if (input.includes('://') || /[/?#@\\]/.test(input))
    throw hostError('must be a host name without scheme, path or user');
  if (input.includes('*')) throw hostError('cannot be a wildcard: add each host separately');
  if (/^\[|:.*:/.test(input) || isIP(input)) throw hostError('must be a name, not an IP address');
  if (input.includes(':')) throw hostError('must be a host name without a port');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused.
  const host = /[%\s\u0000-\u001f\u007f]/.test(input) ? '' : domainToASCII(input);
  if (host === '') throw hostError('is not a host name');
  // Browsers accept other spellings of an address, such as 0x7f.1 and 2130706433.
  if (isIP(host)) throw hostError('must be a name, not an IP address');
  if (host.length > hostCharsMax) throw hostError(`has more than ${hostCharsMax} characters`);
  const labels = host.split('.');
  if (!labels.every((it) => label.test(it))) throw hostError('has a label that is not valid in a host name');
  if (labels.length < 2 && !isKnownTop(host)) throw hostError('needs a domain, such as www.example.com');
  return host;
}

export function refuseReserved(host: string, platform: PlatformNames): void {
  const names = [platform.appsDomain, new URL(platform.baseUrl).hostname, 'localhost'];
  if (names.some((name) => host === name || isSubdomainOf(host, name) || isSubdomainOf(name, host)))
    throw fail('host_reserved', { detail: `${host} belongs to the platform.` });
  const { publicSuffix } = parse(host, { allowPrivateDomains: true });
  if (publicSuffix === host)
    throw fail('host_reserved', {
      detail: `${host} is a public suffix: anybody can register names under it.`,
    });
}

/** A single label that is reserved, such as `com` or `localhost`. Other single labels are not valid. */
function isKnownTop(host: string): boolean {
  return host === 'localhost' || parse(host).isIcann === true;
}

/** DNS allows no CNAME at the registrable domain. */
export function isApex(host: string): boolean {
  return parse(host, { allowPrivateDomains: true }).domain === host;
}

function isSubdomainOf(name: string, other: string): boolean {
  return name.endsWith(`.${other}`);
}

const hostError = (detail: string) => validationError('host', detail);

type EdgeHost =
  | { kind: 'platform' }
  | { kind: 'app'; subdomain: string }
  | { kind: 'staging'; subdomain: string }
  | { kind: 'domain'; host: string };

export type SiteHost = Exclude<EdgeHost, { kind: 'platform' }>;

const platform: EdgeHost = { kind: 'platform' };

/** Every name below the apps domain is a site host: user content and platform pages never share a host. */
export function createHostReader(options: {
  baseUrl: string;
  extraHosts?: readonly string[];
  appsDomain: string;
  isDomain: (host: string) => boolean;
}): (host: string) => EdgeHost {
  const own = new URL(options.baseUrl).hostname;
  const extra: ReadonlySet<string> = new Set(options.extraHosts);
  const below = `.${options.appsDomain}`;
  return (host) => {
    if (host === own || extra.has(host)) return platform;
    if (host.endsWith(below)) {
      const label = host.slice(0, -below.length);
      return label.endsWith(stagingSuffix)
        ? { kind: 'staging', subdomain: label.slice(0, -stagingSuffix.length) }
        : { kind: 'app', subdomain: label };
    }
    return options.isDomain(host) ? { kind: 'domain', host } : platform;
  };
}
