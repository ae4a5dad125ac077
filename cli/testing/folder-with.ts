import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Problem } from '@svc/contract/problem.ts';
import { AdvisedProblem } from '../src/errors.ts';
import { newFolder } from './run-svc.ts';

/** A folder with files, by their paths. */
export function folderWith(files: Record<string, string>): string {
  const folder = newFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** How some work was refused. */
export function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (cause) {
    if (cause instanceof AdvisedProblem) return cause.problem;
    throw cause;
  }
  throw new Error('It was not refused.');
}
