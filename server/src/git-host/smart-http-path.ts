import { gitOwnerPattern, gitRepoNamePattern } from '@svc/contract/git-names.ts';

/** What git asks for, made of names that were checked and words of ours. */
export interface SmartHttpPath {
  owner: string;
  repo: string;
  file: 'info/refs' | 'git-upload-pack' | 'git-receive-pack' | 'HEAD';
  service: 'git-upload-pack' | 'git-receive-pack' | null;
  method: 'GET' | 'POST';
}

const pathPattern =
  /^\/git\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack|HEAD)$/;

/** Null: it is none. Nothing is decoded: no name of ours needs it. */
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
      // Without a service it is the protocol of before: files, which are not given out.
      const [, service] = /^\?service=(git-upload-pack|git-receive-pack)$/.exec(url.search) ?? [];
      if (service !== 'git-upload-pack' && service !== 'git-receive-pack') return null;
      return { owner, repo, file, service, method: 'GET' };
    }
    default:
      return null;
  }
}
