import { describe, expect, test } from 'bun:test';
import { problemOf } from '../../testing/run-svc.ts';
import { parseSiteConfig, type SiteForm } from './site-config.ts';

const parse = (text: string, form: SiteForm = 'either') => parseSiteConfig(text, 'site.yaml', { form });
const refusal = (text: string, form: SiteForm = 'either') => problemOf(() => parse(text, form));

describe('a site configuration', () => {
  test('is read as YAML, as JSON, and from a whole svc.yaml', () => {
    const config = { spa: true, redirects: [{ from: '/a', to: '/b', status: 308 }] };
    const texts = [
      'spa: true\nredirects:\n  - from: /a\n    to: /b\n    status: 308\n',
      JSON.stringify(config, null, '\t'),
      JSON.stringify({ name: 'Pet shop', site: config }),
      'name: Pet shop\nsite:\n  spa: true\n  redirects: [{ from: /a, to: /b, status: 308 }]\n',
    ];
    for (const text of texts) expect(parse(text)).toEqual({ config, retired: [] } as never);
  });

  test('is empty by default', () => {
    for (const text of ['', '{}', 'name: Pet shop', 'site:\n']) expect(parse(text).config).toEqual({});
  });

  test('in svc.yaml is under the key site only', () => {
    expect(refusal('spa: true\n', 'manifest').detail).toBe('site.yaml:1:1: unknown key "spa"');
    expect(parse('site:\n  spa: true\n', 'manifest').config).toEqual({ spa: true });
  });

  test('may contain retired keys, which are named and ignored', () => {
    expect(parse('visibility: public\nservice_worker: { allowed: true }\nspa: true\n')).toEqual({
      config: { spa: true },
      retired: ['visibility', 'service_worker'],
    });
  });

  test.each([
    ['spa: maybe\n', 'site.yaml:1:6: spa must be true or false'],
    ['index: index.html\nsap: true\n', 'site.yaml:2:1: unknown key "sap"; did you mean "spa"?'],
    ['{\n  "spa": 1\n}', 'site.yaml:2:10: spa must be true or false'],
    [
      'headers:\n  - path: /*\n    headers:\n      Set-Cookie: a=b\n',
      'site.yaml:4:19: headers.0.headers.Set-Cookie',
    ],
    ['redirects:\n  - from: /a\n    to: /b\n    code: 301\n', 'site.yaml:4:11: unknown key "code"'],
    ['redirects:\n  - from: /a/*/b\n    to: /b\n', 'site.yaml:2:11: redirects.0.from'],
    ['site:\n  redirects:\n    - { from: /a, to: /a }\n', 'site.yaml:3:23: site.redirects.0.to leads to'],
    ['spa: true\nspa: false\n', 'site.yaml:2:1: a key is given twice'],
    ['- spa\n', 'site.yaml:1:1: must contain keys and values'],
    ['site: [1]\n', 'site.yaml:1:7: site must be an object'],
  ])('that is invalid is rejected with its position: %j', (text, detail) => {
    const problem = refusal(text);
    expect([problem.code, problem.detail]).toEqual(['validation_failed', expect.stringContaining(detail)]);
    expect(problem.errors?.[0]?.line).toBe(Number(detail.split(':')[1]));
  });

  test('reports all errors at once', () => {
    expect(refusal('spa: 1\nindex: /x\nclean_urls: 2\n').errors?.map(({ field }) => field)).toEqual([
      'spa',
      'index',
      'clean_urls',
    ]);
    const mixed = refusal(
      'site:\n  spa: yes please\n  x: 1\n  redirects: [{ from: /a, to: /b, y: 1 }]\nnmae: Shop\n',
    );
    expect(mixed.errors?.map(({ line, field }) => `${line} ${field}`)).toEqual([
      '2 site.spa',
      '3 site.x',
      '4 site.redirects.0.y',
      '5 nmae',
    ]);
    expect(refusal('{"spa":"yes","x":1}').errors?.map(({ field }) => field)).toEqual(['spa', 'x']);
  });
});
