import { newDataScopes } from '@svc/contract/data-scopes.ts';

type RequestedScopes = Parameters<typeof newDataScopes>[0];

/** For the audit log and the plan; nothing where nothing is new. */
export function newScopes(scopes: RequestedScopes): { new_data_scopes?: string[] } {
  return hasNewScopes(scopes) ? { new_data_scopes: newDataScopes(scopes) } : {};
}

/** A person must approve what an app may do with the organisation's data; no policy does. */
export const hasNewScopes = (scopes: RequestedScopes) => newDataScopes(scopes).length > 0;
