/** Where the keys are that apps verify `X-Svc-User` with; apps are told it in `SVC_USER_KEYS_URL`. */
export const userKeysPath = '/.well-known/svc-user-keys.json';
