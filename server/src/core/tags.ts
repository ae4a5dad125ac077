export const credentialTag = (hash: string) => `credential:${hash}`;

export const userTag = (userId: string) => `user:${userId}`;

/** Grants, presets, policies, connectors and deleted groups of a tenant: everything that narrows or opens its data. */
export const governanceTag = (tenantId: string) => `governance:${tenantId}`;

export const appTag = (appId: string) => `app:${appId}`;

export const tableTag = (tableId: string) => `table:${tableId}`;
