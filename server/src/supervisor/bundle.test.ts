import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundlesFolder, describeSource, findCurrentBundle, type Manifest, manifestPath } from './bundle.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-bundle-'));
const source = join(root, 'main.ts');
const write = (manifest: Partial<Manifest>) =>
  writeFileSync(
    manifestPath(root),
    JSON.stringify({ bun: Bun.revision, root, folder: 'made', sources: {}, ...manifest }),
  );

afterAll(() => rmSync(root, { recursive: true, force: true }));
beforeEach(() => {
  rmSync(bundlesFolder(root), { recursive: true, force: true });
  mkdirSync(bundlesFolder(root), { recursive: true });
  writeFileSync(source, 'one');
  utimesSync(source, 1_000, 1_000);
});

describe('a bundle', () => {
  test('is used while its sources are the same, also as copies with other times', () => {
    write({ sources: { 'main.ts': describeSource(source) } });
    expect(findCurrentBundle(root)).toBe(join(bundlesFolder(root), 'made'));
    utimesSync(source, 2_000, 2_000);
    expect(findCurrentBundle(root)).toBe(join(bundlesFolder(root), 'made'));
  });

  test('is not used when a source has changed, even to the same length', () => {
    write({ sources: { 'main.ts': describeSource(source) } });
    writeFileSync(source, 'two');
    expect(findCurrentBundle(root)).toBeNull();
    writeFileSync(source, 'three');
    expect(findCurrentBundle(root)).toBeNull();
  });

  test('is not used when a source is missing', () => {
    write({ sources: { 'main.ts': describeSource(source) } });
    rmSync(source);
    expect(findCurrentBundle(root)).toBeNull();
  });

  test('is not used by another version of Bun, or in another place', () => {
    const sources = { 'main.ts': describeSource(source) };
    write({ bun: 'another', sources });
    expect(findCurrentBundle(root)).toBeNull();
    write({ root: '/elsewhere', sources });
    expect(findCurrentBundle(root)).toBeNull();
  });

  test('is not used when there is none, or a broken one', () => {
    expect(findCurrentBundle(root)).toBeNull();
    writeFileSync(manifestPath(root), '{');
    expect(findCurrentBundle(root)).toBeNull();
  });
});
