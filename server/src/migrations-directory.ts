import { join } from 'node:path';

/** Where the files of the control plane's schema lie. */
export const migrationsDirectory = join(import.meta.dir, '..', 'migrations');
