import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { localLoginFile } from '@svc/contract/identity.ts';
import { type Check, type Finding, ok, problem, warning } from './check.ts';

const mebibyte = 1024 * 1024;
const freeBytesMin = 100 * mebibyte;
const freeBytesEnough = 1024 * mebibyte;
/** Who can read one of these is, or can become, the platform. */
const secretFiles = ['postgres.json', 'raw/postgres.json', localLoginFile, 'audit-anchors.jsonl'];

export const dataDir: Check = {
  name: 'data dir',
  needs: 'config',
  run: async ({ dataDir: folder }) => {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (!found) return warning(`${folder} does not exist yet.`, 'The first start of the server makes it.');
    if (!found.isDirectory()) return problem(`${folder} is not a folder.`, 'Set SVC_DATA_DIR to a folder.');
    return modeOf(folder, found.mode) ?? secretsOf(folder) ?? freeSpace(folder);
  },
};

function modeOf(folder: string, mode: number): Finding | null {
  if (mode & 0o022) {
    return problem(`Other users may write into ${folder}.`, `chmod go-w ${folder}`);
  }
  if (mode & 0o044) return warning(`Other users may list ${folder}.`, `chmod go-r ${folder}`);
  return null;
}

function secretsOf(folder: string): Finding | null {
  const open = secretFiles
    .map((name) => join(folder, name))
    .filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  if (open.length === 0) return null;
  return problem(`Other users may read ${open.join(', ')}.`, `chmod 600 ${open.join(' ')}`);
}

function freeSpace(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const detail = `${folder}: ${Math.floor(free / mebibyte)} MiB free.`;
  if (free < freeBytesMin) return problem(detail, 'Free some space: a full disk stops all writes.');
  if (free < freeBytesEnough) return warning(detail, 'Free some space soon.');
  return ok(detail);
}
