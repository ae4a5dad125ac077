import { gitOwnerPattern, gitRepoNamePattern } from '@svc/contract/git-names.ts';

export const gitPrefix = '/git/';
export const apiPrefix = '/git/api/v3/';
export const devicePath = '/git/login/device';
export const deviceCodePath = '/git/login/device/code';
export const accessTokenPath = '/git/login/oauth/access_token';

export interface GitHostUrls {
  web: string;
  api: string;
}

export function gitHostUrls(baseUrl: string): GitHostUrls {
  return { web: `${baseUrl}/git`, api: `${baseUrl}/git/api/v3` };
}

export interface SmartHttpPath {
  owner: string;
  repo: string;
  file: 'info/refs' | 'git-upload-pack' | 'git-receive-pack' | 'HEAD';
  service: 'git-upload-pack' | 'git-receive-pack' | null;
  method: 'GET' | 'POST';
}

const pathPattern =
  /^\/git\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack|HEAD)$/;

/** Nothing is percent-decoded: no valid name needs it. */
export function parseSmartHttpPath(url: Pick<URL, 'pathname' | 'search'>): SmartHttpPath | null {
  const [matched, owner = '', repo = '', file = ''] = pathPattern.exec(url.pathname) ?? [];
  if (!matched || !gitOwnerPattern.test(owner) || !gitRepoNamePattern.test(repo)) return null;
  switch (file) {
    case 'git-upload-pack':
    case 'git-receive-pack':
      return { owner, repo, file, service: file, method: 'POST' };
    case 'HEAD':
      return { owner, repo, file, service: null, method: 'GET' };
    case 'info/refs': {
      const [, service] = /^\?service=(git-upload-pack|git-receive-pack)$/.exec(url.search) ?? [];
      if (service !== 'git-upload-pack' && service !== 'git-receive-pack') return null;
      return { owner, repo, file, service, method: 'GET' };
    }
    default:
      return null;
  }
}
