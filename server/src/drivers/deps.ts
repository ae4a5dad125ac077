import type { Deps } from '../http/module.ts';
import type { Database } from './database/database.ts';
import type { ObjectStore } from './object-store/object-store.ts';
import type { Supervisor } from './supervisor/connect-supervisor.ts';

export interface DriverDeps extends Deps {
  database: Database;
  objects: ObjectStore;
  supervisor: Supervisor | null;
}
