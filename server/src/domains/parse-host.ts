import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import { hostCharsMax } from '@svc/contract/domains.ts';
import { parse } from 'tldts';
import { fail, invalid } from '../plumbing/problem.ts';

/** Names of the platform itself: neither they nor what is above or below them can be anybody's. */
export interface PlatformNames {
  appsDomain: string;
  baseUrl: string;
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The host as DNS has it, by the rules that browsers follow (WHATWG URL), so that it is the one that they will ask for. */
export function parseHost(text: string): string {
  const given = text.trim().replace(/\.$/, '');
  if (given.includes('://') || /[/?#@\\]/.test(given))
    throw refused('is a host name alone, without scheme, path and user');
  if (given.includes('*')) throw refused('can not be a wildcard: each host is added by itself');
  if (/^\[|:.*:/.test(given) || isIP(given)) throw refused('is a name, not an address');
  if (given.includes(':')) throw refused('is a host name alone, without a port');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  const host = /[%\s\u0000-\u001f\u007f]/.test(given) ? '' : domainToASCII(given);
  if (host === '') throw refused('is no host name');
  // Browsers read other spellings of an address, too: 0x7f.1, 2130706433.
  if (isIP(host)) throw refused('is a name, not an address');
  if (host.length > hostCharsMax) throw refused(`has more than ${hostCharsMax} characters`);
  const labels = host.split('.');
  if (!labels.every((it) => label.test(it))) throw refused('has a part that no host name can have');
  if (labels.length < 2 && !isKnownTop(host)) throw refused('needs a domain, such as www.example.com');
  return host;
}

/** Under whose name others have theirs: that can not be one person's site. */
export function refuseReserved(host: string, platform: PlatformNames): void {
  const names = [platform.appsDomain, new URL(platform.baseUrl).hostname, 'localhost'];
  if (names.some((name) => host === name || isBelow(host, name) || isBelow(name, host)))
    throw fail('host_reserved', { detail: `${host} belongs to the platform.` });
  const { publicSuffix } = parse(host, { allowPrivateDomains: true });
  if (publicSuffix === host)
    throw fail('host_reserved', { detail: `Under ${host} anybody can register names (publicsuffix.org).` });
}

/** A name without a dot that is one, and reserved: `com`, `localhost`. Whatever else has none is no name in DNS. */
function isKnownTop(host: string): boolean {
  return host === 'localhost' || parse(host).isIcann === true;
}

/** Whether it is the top of what somebody registered, where DNS allows no CNAME. */
export function isApex(host: string): boolean {
  return parse(host, { allowPrivateDomains: true }).domain === host;
}

export function unicodeOf(host: string): string {
  return domainToUnicode(host);
}

function isBelow(name: string, other: string): boolean {
  return name.endsWith(`.${other}`);
}

function refused(detail: string) {
  return invalid('host', detail);
}
