import type { Deps } from '../http/module.ts';
import type { Database } from './database/database.ts';
import type { ObjectStore } from './object-store/object-store.ts';

export interface DriverDeps extends Deps {
  database: Database;
  objects: ObjectStore;
}
