import { expect, test } from 'bun:test';
import { sha256 } from '../../core/values.ts';
import { canonicalQuery, signRequest } from './s3-client.ts';

/** The examples of Amazon's documentation, "Signature Calculations for the Authorization Header". */
const signer = {
  region: 'us-east-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const at = new Date('2013-05-24T00:00:00.000Z');
const host = 'https://examplebucket.s3.amazonaws.com';
const empty = sha256('');

test('signatures match the examples of Amazon', () => {
  const signature = (url: string, headers: Record<string, string>) =>
    signRequest(signer, {
      method: 'GET',
      url: new URL(url),
      headers,
      bodySha256: empty,
      at,
    }).authorization?.split('Signature=')[1];
  expect(signature(`${host}/test.txt`, { range: 'bytes=0-9' })).toBe(
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
  expect(signature(`${host}/?${canonicalQuery({ prefix: 'J', 'max-keys': '2' })}`, {})).toBe(
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  );
  expect(signature(`${host}/?${canonicalQuery({ lifecycle: '' })}`, {})).toBe(
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  );
});

test('a session token is sent and signed', () => {
  const headers = signRequest(
    { ...signer, sessionToken: 'token' },
    { method: 'GET', url: new URL(host), headers: {}, bodySha256: empty, at },
  );
  expect(headers['x-amz-security-token']).toBe('token');
  expect(headers.authorization).toContain(
    'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token',
  );
});

test('a query is sorted and fully encoded', () => {
  expect(canonicalQuery({ b: "it's (1/2)*", a: 'ä+ ' })).toBe('a=%C3%A4%2B%20&b=it%27s%20%281%2F2%29%2A');
});
