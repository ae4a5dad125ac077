import { useAuthorization } from '../support/authorization.ts';
import { authorizationTable } from './authorization-table.ts';
import { hiddenRecords } from './hidden-records.ts';

export function authorization(size: { executes: 'first' | 'all'; nth: number }): void {
  const env = useAuthorization();
  authorizationTable(env, size);
  hiddenRecords(env, size.nth);
}
