export const credentialTag = (hash: string) => `credential:${hash}`;

export const userTag = (userId: string) => `user:${userId}`;

export const appTag = (appId: string) => `app:${appId}`;

export const tableTag = (tableId: string) => `table:${tableId}`;
