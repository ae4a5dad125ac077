import { expect, test } from 'bun:test';
import { addressOf, hostAndPort, inDatabase } from './raw-url.ts';

test('of the operator’s own URL nothing is told but where the server is, and whether to encrypt', () => {
  const secret =
    'sslpassword=s3cret&sslkey=%2Fetc%2Fkey.pem&sslcert=x&options=-csearch_path%3Ds3cret&dbname=s3cret&user=s3cret&password=s3cret&application_name=s3cret';
  const url = `postgresql://admin:s3cret@db.example:6543/s3cret?${secret}&sslmode=require#s3cret`;
  expect(addressOf(url)).toBe('postgresql://db.example:6543/?sslmode=require');
  const socket = 'postgresql:///main?host=/run/postgresql&port=5433&passfile=s3cret';
  expect(addressOf(socket)).not.toContain('s3cret');
  expect(hostAndPort(addressOf(socket))).toEqual({ host: '/run/postgresql', port: 5433 });
});

test('we ourselves connect with all of it', () => {
  const url = 'postgresql://admin:s3cret@db.example/main?application_name=a&options=b';
  expect(inDatabase(url, 'other')).toBe(
    'postgresql://admin:s3cret@db.example/other?application_name=a&options=b',
  );
});
