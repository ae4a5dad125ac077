import { join } from 'node:path';
import { projectRoot } from './core/project-root.ts';

export const migrationsDirectory = join(projectRoot, 'server', 'migrations');
