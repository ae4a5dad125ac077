import { expect, test } from 'bun:test';
import { pickSiteFiles } from './pick-site-files.ts';

const chosen = (...paths: string[]) => paths.map((path) => ({ path, file: { size: 1 } }));
const paths = ({ files }: ReturnType<typeof pickSiteFiles>) => files.map(({ path }) => path);

test('what tools keep for themselves and what may hold secrets is left out, each folder once', () => {
  const picked = pickSiteFiles(
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

test('names are composed, so that the same name is the same path from every system', () => {
  expect(paths(pickSiteFiles(chosen('u\u0308.html')))).toEqual(['ü.html']);
});

test('what the server would refuse is said before anything is read', () => {
  expect(pickSiteFiles(chosen('.git/config')).faults).toEqual(['There is no file of a site in this folder.']);
  expect(pickSiteFiles(chosen('a.html', 'A.html', 'con')).faults).toHaveLength(2);
  expect(pickSiteFiles([{ path: 'a.mp4', file: { size: 30_000_000 } }]).faults).toEqual([
    'a.mp4 has 30.0 MB; a file has 26.2 MB at most.',
  ]);
});
