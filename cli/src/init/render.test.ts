import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { renderManifest } from './render.ts';

const words = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => text.trim() !== '');

test('the text is parsed as the same manifest, whatever the names and commands', () => {
  fc.assert(
    fc.property(
      words,
      fc.option(words, { nil: undefined }),
      fc.option(words, { nil: undefined }),
      fc.option(words, { nil: undefined }),
      (name, tenant, build, dir) => {
        const manifest = {
          name,
          ...(tenant !== undefined && { tenant }),
          app: { slug: 'shop' },
          deploy: { method: 'static' as const },
          ...(build !== undefined && { build }),
          ...(dir !== undefined && { static: { dir } }),
        };
        const text = renderManifest({ manifest, evidence: [] }, { baseUrl: 'http://localhost:4400' });
        expect(parse(text)).toEqual(manifest);
      },
    ),
  );
});

test('the first line names the schema for editors, and each key has its reason beside it', () => {
  const manifest = { name: 'Shop', deploy: { method: 'docker' as const }, start: 'node .', health: '/' };
  const evidence = [{ key: 'start', value: 'node .', because: 'main in package.json' }];
  const lines = renderManifest({ manifest, evidence }, { baseUrl: 'https://svc.example' }).split('\n');
  expect(lines[0]).toBe('# yaml-language-server: $schema=https://svc.example/schemas/svc.yaml.json');
  expect(lines[lines.indexOf('start: node .') - 1]).toContain('(main in package.json)');
});

test('unknown values are comments', () => {
  const text = renderManifest(
    { manifest: { name: '日本', deploy: { method: 'docker' } }, evidence: [] },
    { baseUrl: 'http://a' },
  );
  expect(text).toContain('# app:\n#   slug: my-app');
  expect(parse(text)).toEqual({ name: '日本', deploy: { method: 'docker' } });
});
