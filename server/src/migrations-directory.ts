import { join } from 'node:path';

export const migrationsDirectory = join(import.meta.dir, '..', 'migrations');
