import { expect, onTestFinished, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { linkOwnPackages } from './own-packages.ts';

const baseUrl = 'https://svc.example.com';
const inside = 'http://127.0.0.1:4711/sdk.tgz';
const sandboxed = { kind: 'process', adaptVariables: () => ({ SVC_API_URL: inside }) } as const;

async function link(
  files: Record<string, string>,
  runtime: Parameters<typeof linkOwnPackages>[1]['runtime'],
) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-own-packages-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const services = await linkOwnPackages(folder, { baseUrl, runtime, log: () => {} });
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  return { services, files: Object.fromEntries(Object.keys(files).map((path) => [path, read(path)])) };
}

test.each([
  ['package.json', `{"dependencies":{"@svc/sdk":"<url>"}}`],
  ['packages/web/package.json', `{"dependencies":{"@svc/sdk":"<url>"}}`],
  ['package-lock.json', `"resolved": "<url>", "integrity": "sha512-abc=="`],
  ['pnpm-lock.yaml', `'@svc/sdk@<url>': { resolution: { integrity: sha512-abc==, tarball: <url> } }`],
  ['yarn.lock', `"@svc/sdk@<url>":\n  resolved "<url>#0123"\n  integrity sha512-abc==`],
])('%s names the SDK where the build can open it; digests stay', async (path, text) => {
  for (const url of [
    `${baseUrl}/sdk.tgz`,
    'http://127.0.0.1:4400/sdk.tgz',
    'http://localhost/sdk.tgz',
    'https://[::1]:4400/sdk.tgz',
  ]) {
    const linked = await link({ [path]: text.replaceAll('<url>', url) }, sandboxed);
    expect(linked.files[path]).toBe(text.replaceAll('<url>', inside));
    expect(linked.services).toEqual([inside]);
  }
});

test('other packages, other files and builds in containers stay as they are', async () => {
  const own = `{"dependencies":{"@svc/sdk":"${baseUrl}/sdk.tgz"}}`;
  const files = {
    'package.json':
      '{"dependencies":{"a":"http://localhost:1/sdk.tgz.sig","b":"https://other.example.com/sdk.tgz"}}',
    'README.md': `npm i ${baseUrl}/sdk.tgz`,
    'node_modules/a/package.json': own,
  };
  expect(await link(files, sandboxed)).toEqual({ services: [], files });
  const contained = { 'package.json': own };
  expect(await link(contained, { kind: 'docker' })).toEqual({ services: [], files: contained });
});
