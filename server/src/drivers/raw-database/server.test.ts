import { expect, test } from 'bun:test';
import { hostAndPort, inDatabase, publicAddress } from './server.ts';

test('publicAddress contains only host, port and sslmode of the operator’s URL', () => {
  const secret =
    'sslpassword=s3cret&sslkey=%2Fetc%2Fkey.pem&sslcert=x&options=-csearch_path%3Ds3cret&dbname=s3cret&user=s3cret&password=s3cret&application_name=s3cret';
  const url = `postgresql://admin:s3cret@db.example:6543/s3cret?${secret}&sslmode=require#s3cret`;
  expect(publicAddress(url)).toBe('postgresql://db.example:6543/?sslmode=require');
  const socket = 'postgresql:///main?host=/run/postgresql&port=5433&passfile=s3cret';
  expect(publicAddress(socket)).not.toContain('s3cret');
  expect(hostAndPort(publicAddress(socket))).toEqual({ host: '/run/postgresql', port: 5433 });
});

test('inDatabase keeps all parameters', () => {
  const url = 'postgresql://admin:s3cret@db.example/main?application_name=a&options=b';
  expect(inDatabase(url, 'other')).toBe(
    'postgresql://admin:s3cret@db.example/other?application_name=a&options=b',
  );
});
