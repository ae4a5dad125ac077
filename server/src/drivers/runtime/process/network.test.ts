import { expect, test } from 'bun:test';
import { routes } from './network.ts';

test.each(['all', 'public', 'none'] as const)(
  'with egress %s no metadata of a cloud can be reached',
  (egress) => {
    const text = routes({ egress, allowed: ['203.0.113.7'] } as never);
    for (const range of ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'])
      expect(text).toContain(`route add unreachable ${range}\n`);
    expect(text).toContain('route replace 203.0.113.7/32 via ');
  },
);
