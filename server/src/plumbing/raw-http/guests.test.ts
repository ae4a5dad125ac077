import { expect, test } from 'bun:test';
import { createLog } from '../log.ts';
import { createGuests, type Guest } from './guests.ts';

function newGuests(limits = { connectionsMax: 6, perAddressMax: 3 }) {
  const clock = { second: 0 };
  const logged: string[] = [];
  const log = createLog({ level: 'debug', write: (line) => logged.push(line) });
  const trustedProxies = { includes: (address: string) => address === '10.0.0.1' };
  const guests = createGuests<Guest>({ limits, clock, trustedProxies, log });
  const gone: string[] = [];
  return {
    ...{ guests, clock, logged, gone },
    /** The name, where it is let in. */
    come(name: string, address: string, idleSince: number | null = 0): Guest | null {
      const guest = { idleSince, terminate: () => void gone.push(name) };
      return guests.add(guest, address) ? guest : null;
    },
  };
}

test('who has been idle for longest makes room, and who is owed something does not', () => {
  const { come, gone } = newGuests({ connectionsMax: 3, perAddressMax: 3 });
  come('busy', '192.0.2.1', null);
  come('late', '192.0.2.2', 7);
  come('early', '192.0.2.3', 5);
  expect(come('new', '192.0.2.4', 8)).not.toBeNull();
  expect(gone).toEqual(['early']);
  come('newer', '192.0.2.5', 8);
  expect(gone).toEqual(['early', 'late']);
});

test('an address that has its share makes room itself, also while there is room for others', () => {
  const { come, gone } = newGuests();
  come('other', '192.0.2.9', 0);
  for (const name of ['1', '2', '3', '4']) come(name, '192.0.2.1', Number(name));
  expect(gone).toEqual(['1']);
});

test('where all of an address are busy it is refused, and others are not', () => {
  const { come, gone } = newGuests();
  for (const name of ['1', '2', '3']) come(name, '192.0.2.1', null);
  expect(come('4', '192.0.2.1')).toBeNull();
  expect(come('other', '192.0.2.2')).not.toBeNull();
  expect(gone).toEqual([]);
});

test('a proxy that is trusted stands for many', () => {
  const { come, gone } = newGuests();
  for (const name of ['1', '2', '3', '4', '5', '6']) expect(come(name, '10.0.0.1')).not.toBeNull();
  expect(gone).toEqual([]);
});

test('one network of IPv6 counts as one address, however it is written; the next one is another', () => {
  const { come } = newGuests();
  const same = ['2001:db8::1', '2001:db8:0:0:1::', '2001:db8:0:0:ffff:1:2:3'];
  for (const address of same) expect(come(address, address, null)).not.toBeNull();
  expect(come('more', '2001:db8::2')).toBeNull();
  expect(come('next', '2001:db8:0:1::2')).not.toBeNull();
  expect(come('mapped', '::ffff:192.0.2.1')).not.toBeNull();
});

test('who has left counts no longer', () => {
  const { guests, come } = newGuests();
  const [first] = ['1', '2', '3'].map((name) => come(name, '192.0.2.1', null));
  guests.remove(first!);
  guests.remove(first!);
  expect([...guests]).toHaveLength(2);
  expect(come('4', '192.0.2.1', null)).not.toBeNull();
  expect(come('5', '192.0.2.1', null)).toBeNull();
});

test('it is told once a minute', () => {
  const { come, logged, clock } = newGuests();
  for (let name = 0; name < 20; name++) come(String(name), '192.0.2.1');
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('"address":"192.0.2.1"');
  clock.second = 60;
  come('later', '192.0.2.1');
  expect(logged).toHaveLength(2);
});
