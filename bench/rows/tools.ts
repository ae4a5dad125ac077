import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Tools {
  wrk: string;
  pgbench: string;
  psql: string;
}

export function findTools(): Tools {
  const found = { wrk: find('wrk'), pgbench: find('pgbench'), psql: find('psql') };
  const missing = Object.entries(found).flatMap(([name, path]) => (path === null ? [name] : []));
  if (missing.length > 0) {
    throw new Error(`Missing: ${missing.join(', ')}. On Debian: apt install wrk postgresql-contrib.`);
  }
  return found as Tools;
}

const debianFolder = '/usr/lib/postgresql';

function find(name: string): string | null {
  // Debian's psql in the PATH is a Perl wrapper with a slow start.
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder).sort().reverse() : [];
  const debian = versions.map((version) => join(debianFolder, version, 'bin', name)).find(existsSync);
  return debian ?? Bun.which(name);
}
