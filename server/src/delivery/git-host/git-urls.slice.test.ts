import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { browserHeaders } from '../../identity/provider/testing.ts';
import { git, useGitHost } from './testing.ts';

const env = useGitHost();

describe('URLs', () => {
  const ask = (path: string, init: RequestInit = {}) => fetch(`${env.host.baseUrl}${path}`, init);

  test('repository files are not served, and other methods are rejected', async () => {
    const repo = await env.newRepoWithCopy();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const headers = { authorization: `Bearer ${repo.token}` };
    const base = `/git/${repo.fullName}.git`;
    for (const path of ['/config', '/objects/info/packs', '/description', '/info/refs', '/packed-refs', '/'])
      expect([path, (await ask(base + path, { headers })).status]).toEqual([path, 404]);
    expect(await (await ask(`${base}/HEAD`, { headers })).text()).toBe('ref: refs/heads/main\n');
    expect((await ask(`${base}/git-upload-pack`, { headers })).status).toBe(405);
    expect((await ask(`${base}/git-upload-pack`, { headers, method: 'POST', body: 'x' })).status).toBe(415);
  });

  test('the browser URL of a repository shows a page to users with access', async () => {
    const repo = await env.newRepoWithCopy();
    const visit = (headers: Record<string, string>) =>
      ask(`/git/${repo.fullName}`, { headers, redirect: 'manual' });
    const page = await visit(await browserHeaders(env.database, env.member));
    expect(await page.text()).toContain(`git clone ${env.host.baseUrl}/git/${repo.fullName}.git`);
    expect((await visit(await browserHeaders(env.database, env.admin))).status).toBe(404);
    const nobody = await visit({});
    expect([nobody.status, nobody.headers.get('location')]).toEqual([
      303,
      `/login?return_to=${encodeURIComponent(`/git/${repo.fullName}`)}`,
    ]);
  });

  test('hostile names are rejected, and never become a path or an argument', async () => {
    const repo = await env.newRepoWithCopy();
    const token = repo.token;
    const before = readdirSync(join(env.host.dataDir, 'git')).sort();
    const { slug } = env.tenant;
    const folder = before[0] ?? '';
    for (const name of hostileNames(folder)) {
      for (const path of [
        `/git/${slug}/${name}.git/info/refs?service=git-upload-pack`,
        `/git/${name}/repo-1.git/info/refs?service=git-receive-pack`,
        `/git/${slug}/repo-1.git/info/refs?service=${name}`,
        `/git/api/v3/repos/${slug}/${name}`,
        `/git/api/v3/repos/${name}/repo-1`,
        `/git/api/v3/repos/${repo.fullName}/commits/${name}`,
        `/git/api/v3/repos/${repo.fullName}/git/trees/${name}`,
        `/git/api/v3/repos/${repo.fullName}/contents/${name}`,
        `/git/api/v3/repos/${repo.fullName}/branches/${name}`,
      ]) {
        const { status } = await ask(path, { headers: { authorization: `Bearer ${token}` } });
        if (![400, 401, 404, 405, 409, 422].includes(status)) expect([path, status]).toEqual([path, 404]);
      }
      const created = await env.host.call(token, 'POST', `/orgs/${slug}/repos`, { name: decoded(name) });
      expect([name, created.status]).toEqual([name, 422]);
    }
    expect(readdirSync(join(env.host.dataDir, 'git')).sort()).toEqual(before);
    expect(existsSync(join(env.host.dataDir, 'pwned'))).toBeFalse();
  });
});

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function hostileNames(folder: string): string[] {
  return [
    '..',
    '.',
    '%2e%2e',
    '%2e',
    '..%2f..',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '..%5c..',
    '....%2f%2f',
    'a;touch%20pwned',
    'a%26touch%20pwned',
    '$(touch%20pwned)',
    '%60touch%20pwned%60',
    'a|touch%20pwned',
    'a%0atouch%20pwned',
    'a%0d%0aX-Header:%20y',
    'a%00b',
    '%00',
    'a%20b',
    'a%09b',
    '%7f',
    'a%3eb',
    'a%3cb',
    '--upload-pack=touch%20pwned',
    '--help',
    '-c',
    '-u',
    '--exec=x',
    '-',
    '--',
    '--output=%2ftmp%2fpwned',
    '.git%2fconfig',
    '.git',
    'a.git',
    'a.lock',
    'x.wiki',
    '%2fetc%2fpasswd',
    '%2f%2fetc',
    'C:%5cwindows',
    '~root',
    '~%2f',
    '*',
    '%3f',
    '%5ba%5d',
    'a%7b1,2%7d',
    '!x',
    '%23',
    'a%25',
    '%e0%a4%a',
    '%ff',
    'ä',
    '%F0%9F%98%80',
    `${folder}%2fconfig`,
    `%2e%2e%2f${folder}`,
    `a%2fb`,
    'HEAD%5e%7bcommit%7d',
    'main~1',
    'main%40%7b1%7d',
    ':%2fFirst',
    ':(top)',
    'refs%2fheads%2f..%2f..%2fconfig',
    'a'.repeat(300),
    "'%20or%201=1--",
    'file:%2f%2f%2fetc',
    'ext::sh%20-c%20touch%20pwned',
  ];
}
