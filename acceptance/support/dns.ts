import { join } from 'node:path';
import { type DnsRecord, type DnsServer, startDnsServer } from '../../scripts/dns-server.ts';
import { temporaryFolder } from './server.ts';

export { type DnsRecord, type DnsServer, hasDnsServer, needsDnsServer } from '../../scripts/dns-server.ts';

/** A real name server, with its zones in a folder of the test's own. */
export function startDns(): Promise<DnsServer> {
  return startDnsServer(join(temporaryFolder(), 'dns'));
}

/** What makes a server look domains up there. */
export function dnsEnv({ address, port }: DnsServer): Record<string, string> {
  return { SVC_DNS_SERVERS: address, SVC_DNS_PORT: String(port) };
}

/** A zone of the test's own. */
export function newZone(): string {
  return `z${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.test`;
}

/** What the server asks to be published, as a zone has it. */
export function asRecords(records: readonly DnsRecord[]): DnsRecord[] {
  return records.map(({ name, type, value }) => ({ name, type, value }));
}
