import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DnsServer, startDnsServer } from '../../../../scripts/dns-server.ts';

export { type DnsRecord, hasDnsServer, needsDnsServer } from '../../../../scripts/dns-server.ts';

export async function testDnsServer(): Promise<DnsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-dns-'));
  const server = await startDnsServer(folder);
  return {
    ...server,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function newZone(): string {
  return `z${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.test`;
}
