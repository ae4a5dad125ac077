export const userKeysPath = '/.well-known/svc-user-keys.json';
