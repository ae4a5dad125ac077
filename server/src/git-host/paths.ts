/** Everything of the built-in git host is below it. */
export const gitPrefix = '/git/';
export const apiPrefix = '/git/api/v3/';
export const devicePath = '/git/login/device';
export const deviceCodePath = '/git/login/device/code';
export const accessTokenPath = '/git/login/oauth/access_token';

/** Addresses as people and programs see them. */
export interface GitHostUrls {
  web: string;
  api: string;
}

export function gitHostUrls(baseUrl: string): GitHostUrls {
  return { web: `${baseUrl}/git`, api: `${baseUrl}/git/api/v3` };
}
