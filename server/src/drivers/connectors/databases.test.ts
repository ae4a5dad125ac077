import { expect, test } from 'bun:test';
import { parseNetworks } from '../../core/ip-networks.ts';
import { createConnectorNetworks } from './databases.ts';

const names: Record<string, string[]> = {
  'db.example.com': ['192.0.2.7'],
  'sneaky.example.com': ['127.0.0.1'],
  'both.example.com': ['::1', '10.0.0.7'],
  'control.internal': ['10.0.0.5'],
};
const lookUp = async (host: string) => names[host] ?? [];
const guard = (allowed: string | null) =>
  createConnectorNetworks({
    allowed: allowed === null ? null : parseNetworks(allowed),
    ownDatabases: [
      'postgresql://svc:x@control.internal:5432/svc',
      'postgresql://svc:x@127.0.0.1:5433/svc',
      'postgresql://svc:x@localhost/svc?host=/run/svc&port=5434',
    ],
    lookUp,
  });

test.each([
  ['db.example.com', '192.0.2.7'],
  ['10.1.2.3', '10.1.2.3'],
  // The first address that is open.
  ['both.example.com', '10.0.0.7'],
  ['2001:db8::7', '2001:db8::7'],
])('by default %s may be connected to', async (host, address) => {
  expect(await guard(null).resolve(host, 5432)).toBe(address);
});

test.each([
  'localhost',
  'sneaky.example.com',
  '127.0.0.1',
  '127.1.2.3',
  '0.0.0.0',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '169.254.169.254',
  '::ffff:169.254.169.254',
  'fe80::1',
  'fd00:ec2::254',
  '100.100.100.200',
  '168.63.129.16',
  '64:ff9b::7f00:1',
  '224.0.0.1',
  'unknown.example.com',
])('by default %s may not', async (host) => {
  const error = await guard(null)
    .resolve(host, 5432)
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(Error);
});

test('networks of the setting are open, all others closed', async () => {
  expect(await guard('127.0.0.0/8').resolve('127.0.0.1', 5432)).toBe('127.0.0.1');
  expect(guard('127.0.0.0/8').resolve('db.example.com', 5432)).rejects.toThrow('SVC_CONNECTOR_NETWORKS');
});

test("the platform's own databases stay closed", async () => {
  expect(guard(null).resolve('10.0.0.5', 5432)).rejects.toThrow('platform itself');
  expect(guard('127.0.0.0/8').resolve('127.0.0.2', 5433)).rejects.toThrow('platform itself');
  for (const port of [5432, 5434])
    expect(await guard('127.0.0.0/8').resolve('127.0.0.2', port)).toBe('127.0.0.2');
});
