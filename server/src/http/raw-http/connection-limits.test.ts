import { expect, test } from 'bun:test';
import { createLog } from '../../core/log.ts';
import { createConnectionRegistry, type TrackedConnection } from './connection-limits.ts';

function newGuests(limits = { connectionsMax: 6, perAddressMax: 3 }) {
  const clock = { second: 0 };
  const logged: string[] = [];
  const log = createLog({ level: 'debug', write: (line) => logged.push(line) });
  const trustedProxies = { includes: (address: string) => address === '10.0.0.1' };
  const connections = createConnectionRegistry<TrackedConnection>({ limits, clock, trustedProxies, log });
  const terminated: string[] = [];
  return {
    connections,
    clock,
    logged,
    terminated,
    /** The name of an accepted connection. */
    come(name: string, address: string, idleSince: number | null = 0): TrackedConnection | null {
      const connection = { idleSince, terminate: () => void terminated.push(name) };
      return connections.add(connection, address) ? connection : null;
    },
  };
}

test('the longest idle connections are evicted, busy ones are not', () => {
  const { come, terminated } = newGuests({ connectionsMax: 3, perAddressMax: 3 });
  come('busy', '192.0.2.1', null);
  come('late', '192.0.2.2', 7);
  come('early', '192.0.2.3', 5);
  expect(come('new', '192.0.2.4', 8)).not.toBeNull();
  expect(terminated).toEqual(['early']);
  come('newer', '192.0.2.5', 8);
  expect(terminated).toEqual(['early', 'late']);
});

test('an address at its own limit evicts its own connections', () => {
  const { come, terminated } = newGuests();
  come('other', '192.0.2.9', 0);
  for (const name of ['1', '2', '3', '4']) come(name, '192.0.2.1', Number(name));
  expect(terminated).toEqual(['1']);
});

test('an address whose connections are all busy is refused, others are not', () => {
  const { come, terminated } = newGuests();
  for (const name of ['1', '2', '3']) come(name, '192.0.2.1', null);
  expect(come('4', '192.0.2.1')).toBeNull();
  expect(come('other', '192.0.2.2')).not.toBeNull();
  expect(terminated).toEqual([]);
});

test('the limit per address does not apply to a trusted proxy', () => {
  const { come, terminated } = newGuests();
  for (const name of ['1', '2', '3', '4', '5', '6']) expect(come(name, '10.0.0.1')).not.toBeNull();
  expect(terminated).toEqual([]);
});

test('an IPv6 /64 network counts as one address, however it is written', () => {
  const { come } = newGuests();
  const same = ['2001:db8::1', '2001:db8:0:0:1::', '2001:db8:0:0:ffff:1:2:3'];
  for (const address of same) expect(come(address, address, null)).not.toBeNull();
  expect(come('more', '2001:db8::2')).toBeNull();
  expect(come('next', '2001:db8:0:1::2')).not.toBeNull();
  expect(come('mapped', '::ffff:192.0.2.1')).not.toBeNull();
});

test('a removed connection no longer counts', () => {
  const { connections, come } = newGuests();
  const [first] = ['1', '2', '3'].map((name) => come(name, '192.0.2.1', null));
  connections.remove(first!);
  connections.remove(first!);
  expect([...connections]).toHaveLength(2);
  expect(come('4', '192.0.2.1', null)).not.toBeNull();
  expect(come('5', '192.0.2.1', null)).toBeNull();
});

test('the limit is logged once a minute', () => {
  const { come, logged, clock } = newGuests();
  for (let name = 0; name < 20; name++) come(String(name), '192.0.2.1');
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('"address":"192.0.2.1"');
  clock.second = 60;
  come('later', '192.0.2.1');
  expect(logged).toHaveLength(2);
});
