import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DnsServer, startDnsServer } from '../../../../scripts/dns-server.ts';

export { type DnsRecord, hasDnsServer, needsDnsServer } from '../../../../scripts/dns-server.ts';

/** A real name server, with its zones in a folder of the test's own. */
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

/** A zone that no other test has. */
export function newZone(): string {
  return `z${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.test`;
}
