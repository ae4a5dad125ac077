import { expect, test } from 'bun:test';
import { Failure } from '../../core/problem.ts';
import { presentedCredential } from './find-credential.ts';

const origin = 'https://svc.example.test';

function presented(headers: Record<string, string>, method = 'GET') {
  try {
    return presentedCredential(new Request(`${origin}/api/v1/me`, { method, headers }), origin);
  } catch (error) {
    return error instanceof Failure ? error.code : error;
  }
}

test('a bearer token, an API key and a session cookie are recognized', () => {
  expect(presented({ authorization: 'Bearer abc-DEF_1.2~3' })).toEqual({
    kind: 'login',
    secret: 'abc-DEF_1.2~3',
  });
  expect(presented({ authorization: 'bearer abc' })).toEqual({ kind: 'login', secret: 'abc' });
  expect(presented({ 'x-api-key': 'svcpat_x' })).toEqual({ kind: 'pat', secret: 'svcpat_x' });
  expect(presented({ cookie: 'a=b; __Host-svc_session=s3; __Host-svc_session.sig=x' })).toEqual({
    kind: 'session',
    secret: 's3',
  });
  expect(presented({})).toBeNull();
});

test('two credential headers are refused', () => {
  expect(presented({ authorization: 'Bearer abc', 'x-api-key': 'svcpat_x' })).toBe('ambiguous_credentials');
  expect(presented({ authorization: 'nonsense', 'x-api-key': '' })).toBe('ambiguous_credentials');
});

test('an invalid Authorization header is not replaced by a cookie', () => {
  const cookie = '__Host-svc_session=s3';
  for (const authorization of [
    'Basic YTpi',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearer a, Bearer b',
    'abc',
    '',
  ]) {
    expect(presented({ authorization, cookie })).toBeNull();
  }
  expect(presented({ authorization: `Bearer ${'a'.repeat(600)}` })).toBeNull();
});

test('a cookie is accepted for reads from anywhere, for changes from the same origin only', () => {
  const cookie = '__Host-svc_session=s3';
  const session = { kind: 'session', secret: 's3' };
  expect(presented({ cookie, 'sec-fetch-site': 'cross-site' })).toEqual(session);
  expect(presented({ cookie }, 'HEAD')).toEqual(session);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    expect(presented({ cookie }, method)).toBe('cross_site_request');
    expect(presented({ cookie, 'sec-fetch-site': 'same-site' }, method)).toBe('cross_site_request');
    expect(presented({ cookie, origin: 'https://svc.example.test.evil.test' }, method)).toBe(
      'cross_site_request',
    );
    expect(presented({ cookie, origin: 'null' }, method)).toBe('cross_site_request');
    expect(presented({ cookie, 'sec-fetch-site': 'same-origin' }, method)).toEqual(session);
    expect(presented({ cookie, origin }, method)).toEqual(session);
  }
});

test('two session cookies, or an invalid one, are ignored', () => {
  expect(presented({ cookie: '__Host-svc_session=a; __Host-svc_session=b' })).toBeNull();
  expect(presented({ cookie: '__Host-svc_session=' })).toBeNull();
  expect(presented({ cookie: '__Host-svc_session=a"b' })).toBeNull();
  expect(presented({ cookie: 'x__Host-svc_session=a' })).toBeNull();
});

test('on https a cookie without the __Host- prefix is ignored', () => {
  expect(presented({ cookie: 'svc_session=planted' })).toBeNull();
  const both = 'svc_session=planted; __Host-svc_session=s3; svc_session=more';
  expect(presented({ cookie: both })).toEqual({ kind: 'session', secret: 's3' });
});

test('on http, where browsers reject the prefix, the plain name is used', () => {
  const plain = 'http://localhost:4400';
  const request = (cookie: string) => new Request(`${plain}/api/v1/me`, { headers: { cookie } });
  expect(presentedCredential(request('svc_session=s3'), plain)).toEqual({ kind: 'session', secret: 's3' });
  expect(presentedCredential(request('__Host-svc_session=s3'), plain)).toBeNull();
});

test('a token in a header is accepted from any origin', () => {
  const login = { kind: 'login', secret: 'abc' };
  expect(presented({ authorization: 'Bearer abc', cookie: '__Host-svc_session=s3' }, 'POST')).toEqual(login);
});
