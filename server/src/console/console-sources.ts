import { join } from 'node:path';

/** Where the console's own files lie. */
export const consoleSources = join(import.meta.dir, '..', '..', '..', 'console');
