import { chownSync, closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a private file so that after a crash it is either the old one or the new one, whole. */
export function writeDurably(path: string, text: string, owner?: { uid: number; gid: number }): void {
  const beside = `${path}.new`;
  const file = openSync(beside, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (owner) chownSync(beside, owner.uid, owner.gid);
  renameSync(beside, path);
  syncFolder(dirname(path));
}

/** Makes renames in the folder last. */
export function syncFolder(folder: string): void {
  // Windows can't open folders, and keeps renames by itself.
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
