import { expect, test } from 'bun:test';
import { selectSiteFiles } from './site-files.ts';

const chosen = (...paths: string[]) => paths.map((path) => ({ path, file: { size: 1 } }));
const paths = ({ files }: ReturnType<typeof selectSiteFiles>) => files.map(({ path }) => path);

test('tool files and secrets are excluded, each folder once', () => {
  const picked = selectSiteFiles(
    chosen(
      'node_modules/a/b.js',
      'node_modules/c.js',
      'sub/.env.local',
      '.well-known/x',
      'index.html',
      'svc.yaml',
    ),
  );
  expect(paths(picked)).toEqual(['.well-known/x', 'index.html']);
  expect(picked.leftOut).toEqual(['node_modules', 'sub/.env.local', 'svc.yaml']);
  expect(picked.faults).toEqual([]);
});

test('paths are normalized to NFC', () => {
  expect(paths(selectSiteFiles(chosen('u\u0308.html')))).toEqual(['ü.html']);
});

test('files that the server would refuse are reported', () => {
  expect(selectSiteFiles(chosen('.git/config')).faults).toEqual(['This folder has no files to deploy.']);
  expect(selectSiteFiles(chosen('a.html', 'A.html', 'con')).faults).toHaveLength(2);
  expect(selectSiteFiles([{ path: 'a.mp4', file: { size: 30_000_000 } }]).faults).toEqual([
    'a.mp4 has 30.0 MB; a file has at most 26.2 MB.',
  ]);
});
