import { expect, test } from 'bun:test';
import { domainRecord } from './domain-record.ts';
import type { Check, DomainRow } from './store.ts';

const right: Check = { state: 'ok', reason: null, expected: '', found: [], next_step: '' };
const none: Check = { ...right, reason: 'not_configured' };
const waiting: Check = { ...right, state: 'waiting', reason: 'ordered' };

const row = {
  host: 'www.example.com',
  token: 'token',
  ownership: right,
  routing: right,
  created_at: new Date(),
  verified_at: null,
  last_checked_at: null,
  next_check_at: null,
  disconnected_at: null,
} as unknown as DomainRow;

test('the URL is HTTPS if a certificate covers the host, and HTTP otherwise', () => {
  const domainUrl = (certificate: Check, baseUrl: string, covered: string[] = []) =>
    domainRecord(
      { ...row, certificate },
      {
        baseUrl,
        target: 'edge.apps.example',
        addresses: [],
        secureOrigin: ({ host, hasCertificate }) =>
          hasCertificate || covered.includes(host) ? `https://${host}:4443` : null,
      },
    ).url;
  const [plain, secure] = ['http://svc.example:4400', 'https://svc.example:8443'];
  expect(domainUrl(right, plain)).toBe('https://www.example.com:4443/');
  expect(domainUrl(none, plain)).toBe('http://www.example.com:4400/');
  expect(domainUrl(waiting, plain)).toBe('http://www.example.com:4400/');
  expect(domainUrl(none, secure)).toBe('http://www.example.com/');
  expect(domainUrl(none, secure, ['www.example.com'])).toBe('https://www.example.com:4443/');
});
