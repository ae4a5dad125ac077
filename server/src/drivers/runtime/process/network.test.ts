import { expect, test } from 'bun:test';
import { routes } from './network.ts';

test.each(['all', 'public', 'none'] as const)(
  'with egress %s no metadata of a cloud can be reached',
  (egress) => {
    const text = routes({ egress, allowed: [{ address: '203.0.113.7', port: 443 }] } as never);
    for (const range of ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'])
      expect(text).toContain(`route add unreachable ${range}\n`);
    expect(text).toContain('rule add to 203.0.113.7/32 ipproto tcp dport 443 table ');
  },
);
