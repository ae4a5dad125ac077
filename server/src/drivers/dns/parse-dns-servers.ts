import { isIP } from 'node:net';
import type { DnsServerAddress } from './dns.ts';

const portDefault = 53;

/** `127.0.0.1:5300,[::1]:53,9.9.9.9`; a RangeError names what is no address. */
export function parseDnsServers(text: string): DnsServerAddress[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(parseDnsServer);
}

export function parseDnsServer(text: string): DnsServerAddress {
  if (isIP(text)) return { host: text, port: portDefault };
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? '';
  const port = digits === '' ? portDefault : Number(digits);
  if (!isIP(host) || port < 1 || port > 65_535)
    throw new RangeError(`${text} is no address of a name server`);
  return { host, port };
}
