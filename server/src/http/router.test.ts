import { describe, expect, test } from 'bun:test';
import { createRouter } from './router.ts';

const router = createRouter([
  { method: 'GET', path: '/grants/{id}', target: 'one' },
  { method: 'GET', path: '/grants/mine', target: 'mine' },
  { method: 'PUT', path: '/grants/{id}/scope', target: 'scope' },
]);

describe('the router', () => {
  test('prefers a literal segment over a parameter', () => {
    expect(router.find('GET', '/grants/mine')).toEqual({ kind: 'found', target: 'mine', params: {} });
    expect(router.find('GET', '/grants/7')).toEqual({ kind: 'found', target: 'one', params: { id: '7' } });
  });

  test('distinguishes a wrong method from an unknown path', () => {
    expect(router.find('DELETE', '/grants/7')).toEqual({ kind: 'wrong_method', allowed: ['GET'] });
    expect(router.find('GET', '/nothing')).toEqual({ kind: 'none' });
    expect(router.find('GET', '/grants')).toEqual({ kind: 'none' });
    expect(router.find('GET', '/grants/7/')).toEqual({ kind: 'none' });
  });

  test('decodes each segment once: an encoded slash stays inside its parameter', () => {
    expect(router.find('GET', '/grants/a%2Fscope')).toMatchObject({
      target: 'one',
      params: { id: 'a/scope' },
    });
    expect(router.find('GET', '/grants/%252e')).toMatchObject({ params: { id: '%2e' } });
  });

  test('refuses a path that is not well encoded', () => {
    expect(router.find('GET', '/grants/%E0%A4')).toEqual({ kind: 'malformed' });
  });

  test('never matches an empty segment with a parameter', () => {
    expect(router.find('GET', '/grants/')).toEqual({ kind: 'none' });
    expect(router.find('PUT', '/grants//scope')).toEqual({ kind: 'none' });
  });

  test('does not accept the same route twice', () => {
    const twice = { method: 'GET', path: '/a', target: 1 };
    expect(() => createRouter([twice, twice])).toThrow('Duplicate route');
  });
});
