import { expect, test } from 'bun:test';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { BuildError } from '../../drivers/runtime/runtime.ts';
import { planSource } from './plan-source.ts';

const root = useFolder();

let made = 0;
function folderOf(files: Record<string, string>): string {
  const folder = join(root, String(++made));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const app = JSON.stringify({ scripts: { start: 'node x', build: 'make' } });

async function refusal(folder: string): Promise<string> {
  const error = await planSource(folder, { method: 'docker' }).catch((caught: unknown) => caught);
  if (!(error instanceof BuildError)) throw new Error('It was not refused.');
  return error.message;
}

test('settings that svc.yaml lacks are detected from the source', async () => {
  const { plan, health, env, notes } = await planSource(folderOf({ 'package.json': app }), {
    method: 'docker',
  });
  expect(plan).toEqual({
    installCommand: 'npm install',
    buildCommand: 'npm run build',
    dir: '.',
    startCommand: 'npm run start',
    outputDir: null,
    dockerfile: null,
    composeFile: null,
    language: 'javascript',
  });
  expect([health, env]).toEqual([{ path: null, timeoutMs: 60_000 }, {}]);
  expect(notes).toEqual(['package.json declares a JavaScript package']);
});

test('an app with a server gets a note for each rule for other hosts, because its server answers all paths', async () => {
  const files = {
    'package.json': app,
    'public/_redirects': '/old /new\n/broken\n',
    _headers: '/*\n  X-One: 1\n',
    'netlify.toml': '[[redirects]]\nfrom = "/a"\nto = "/b"\n[build]\nignore = "exit 1"\n',
  };
  const { method, notes } = await planSource(folderOf(files), { method: 'docker' });
  expect([method, notes.filter((note) => note.startsWith('Not applied: '))]).toEqual([
    'docker',
    [
      'Not applied: line 1 of _redirects: the server of the app answers all paths.',
      'Not applied: line 2 of _headers: the server of the app answers all paths.',
      'Not applied: redirects[0] of netlify.toml: the server of the app answers all paths.',
      'Not applied: line 2 of _redirects: has no target.',
      'Not applied: build.ignore of netlify.toml: is not supported.',
    ],
  ]);
  const site = await planSource(folderOf({ 'index.html': '', _redirects: '/old /new\n' }), {
    method: 'docker',
  });
  expect([site.method, site.notes.join()]).toEqual(['static', expect.not.stringContaining('Not applied')]);
});

test('svc.yaml overrides detected settings', async () => {
  const folder = folderOf({
    'svc.yaml':
      'build: {command: make all, dir: web}\nstart: ./run\nhealth: {path: /up, timeout: 1500ms}\nenv: {A: b}\n',
    'web/package.json': app,
  });
  const { plan, health, env } = await planSource(folder, { method: 'docker' });
  expect(plan).toMatchObject({
    buildCommand: 'make all',
    dir: 'web',
    startCommand: './run',
    installCommand: 'npm install',
  });
  expect([health, env]).toEqual([{ path: '/up', timeoutMs: 1_500 }, { A: 'b' }]);
});

test('commands in svc.yaml run at the root of a workspace, as they are written', async () => {
  const workspace = {
    'package.json': JSON.stringify({ workspaces: ['apps/*'] }),
    'apps/api/package.json': JSON.stringify({ scripts: { start: 'node x' } }),
  };
  const found = await planSource(folderOf(workspace), { method: 'docker' });
  expect([found.plan.dir, found.plan.startCommand]).toEqual(['apps/api', 'npm run start']);
  const written = folderOf({ ...workspace, 'svc.yaml': 'start: node apps/api/x.js\n' });
  const { plan } = await planSource(written, { method: 'docker' });
  expect([plan.dir, plan.startCommand]).toEqual(['.', 'node apps/api/x.js']);
});

test('processes come from svc.yaml and the Procfile, without web and release', async () => {
  const Procfile = 'web: ./web\nrelease: ./migrate\nworker: ./work\nclock: ./tick\nold: ./old\n';
  const yaml =
    'instances: 2\nsleep: 2h\nprocesses: {clock: {command: ./tock, instances: 0}, mail: ./mail, old: false}\n';
  const { processes, sleepMs, plan } = await planSource(folderOf({ Procfile, 'svc.yaml': yaml }), {
    method: 'docker',
  });
  expect(processes).toEqual({
    web: { command: null, instances: 2 },
    worker: { command: './work', instances: null },
    clock: { command: './tock', instances: 0 },
    mail: { command: './mail', instances: null },
  });
  expect([sleepMs, plan.startCommand]).toEqual([7_200_000, './web']);
});

test('a detected release command stays with another start command, and can be switched off', async () => {
  const django = { 'requirements.txt': 'Django\npsycopg\n', 'manage.py': '' };
  const planned = async (yaml: string) => {
    const { release, plan } = await planSource(folderOf({ ...django, 'svc.yaml': yaml }), {
      method: 'docker',
    });
    return [release, plan.startCommand];
  };
  const migrate = 'python manage.py migrate --noinput';
  expect(await planned('')).toEqual([migrate, expect.stringMatching(/^python manage.py runserver/)]);
  expect(await planned('start: ./run\n')).toEqual([migrate, './run']);
  expect(await planned('release: ./own\n')).toEqual(['./own', expect.any(String)]);
  expect(await planned('release: false\n')).toEqual([null, expect.any(String)]);
});

test('a site has no processes, and a compose file has its own', async () => {
  const yaml = { 'svc.yaml': 'instances: 2\nsleep: 5m\n' };
  const site = await planSource(folderOf({ ...yaml, 'index.html': '' }), { method: 'static' });
  expect([site.processes, site.sleepMs]).toEqual([{}, null]);
  expect(site.notes).toContain('A site has no process: instances and sleep of svc.yaml are not used.');
  const compose = folderOf({ ...yaml, 'compose.yaml': 'services: {}' });
  const error = await planSource(compose, { method: 'compose' }).catch((caught: unknown) => caught);
  expect(String(error)).toContain('not for a compose file');
});

test('a static app has an output folder and no start command', async () => {
  const folder = folderOf({
    'package.json': JSON.stringify({ dependencies: { vite: '1' }, scripts: { start: 'x' } }),
  });
  expect((await planSource(folder, { method: 'static' })).plan).toMatchObject({
    outputDir: 'dist',
    startCommand: null,
  });
  const named = folderOf({ 'svc.yaml': 'static: {dir: site}\nsite: {spa: true}', 'index.html': '' });
  expect(await planSource(named, { method: 'static' })).toMatchObject({
    plan: { outputDir: 'site' },
    site: { spa: true },
  });
});

test('every path of React Router without a server shows its first page', async () => {
  const folder = folderOf({
    'package.json': JSON.stringify({ devDependencies: { '@react-router/dev': '8' } }),
    'react-router.config.ts': 'export default { ssr: false };',
  });
  expect(await planSource(folder, { method: 'docker' })).toMatchObject({
    plan: { outputDir: 'build/client', startCommand: null },
    site: { spa: true },
  });
});

test('svc.yaml can name another Dockerfile', async () => {
  const folder = folderOf({ 'svc.yaml': 'deploy: {dockerfile: ops/Dockerfile}' });
  expect((await planSource(folder, { method: 'docker' })).plan.dockerfile).toBe('ops/Dockerfile');
});

test('an invalid svc.yaml is rejected with the position', async () => {
  expect(await refusal(folderOf({ 'svc.yaml': 'start: [1]' }))).toContain('start');
  expect(await refusal(folderOf({ 'svc.yaml': 'unknown: 1' }))).toContain('unknown');
  expect(await refusal(folderOf({ 'svc.yaml': 'a: : b' }))).toContain('svc.yaml');
  expect(await refusal(folderOf({ 'svc.yml': 'start: x\nbiuld: make\nzzz: 1\n' }))).toBe(
    'svc.yml:2:1: unknown key "biuld"; did you mean "build"?; svc.yml:3:1: unknown key "zzz"',
  );
  expect(await refusal(folderOf({ 'svc.yaml': 'name: a\nstart:\n  - 1\n' }))).toBe(
    'svc.yaml:3:3: start must be a command or false',
  );
  expect(await refusal(folderOf({ 'svc.yaml': `# ${'x'.repeat(70_000)}` }))).toBe(
    'svc.yaml:1:1: is larger than 64 KiB',
  );
  expect(await refusal(folderOf({ 'svc.yaml': 'build: {command: x, dir: nowhere}' }))).toContain('nowhere');
  expect(await refusal(folderOf({ 'svc.yaml': 'build: {command: x, dir: ../up}' }))).toContain('build');
});

test('symbolic links are not read', async () => {
  const secret = join(root, 'secret');
  writeFileSync(secret, 'start: cat /etc/passwd');
  const folder = folderOf({});
  symlinkSync(secret, join(folder, 'svc.yaml'));
  symlinkSync('/etc', join(folder, 'etc'));
  expect((await planSource(folder, { method: 'docker' })).plan.startCommand).toBeNull();
});

test('a build.dir outside of the source does not exist', async () => {
  const elsewhere = folderOf({ 'package.json': JSON.stringify({ dependencies: { astro: '1' } }) });
  const folder = folderOf({ 'svc.yaml': 'build: {command: x, dir: out}', 'app/package.json': '{}' });
  symlinkSync(elsewhere, join(folder, 'out'));
  expect(await refusal(folder)).toContain('the folder out of build.dir does not exist');
  const through = folderOf({ 'svc.yaml': 'build: {command: x, dir: out/of}' });
  mkdirSync(join(elsewhere, 'of'));
  symlinkSync(elsewhere, join(through, 'out'));
  expect(await refusal(through)).toContain('the folder out/of of build.dir does not exist');
});

test("another method than the app's is rejected; a required storage and data scopes are reported", async () => {
  const scopes = 'app: { data_scopes: [warehouse/sales/*:read] }\n';
  const folder = folderOf({
    'svc.yaml': `deploy: { method: static }\nstorage: { enabled: true }\n${scopes}`,
  });
  expect(await planSource(folder, { method: 'static' })).toMatchObject({
    wantsStorage: true,
    dataScopes: ['warehouse/sales/*:read'],
  });
  expect(planSource(folder, { method: 'docker' })).rejects.toThrow('deploy.method is static');
});

test('a health timeout beyond the limit is rejected with its name', async () => {
  const folder = folderOf({ 'svc.yaml': 'start: x\nhealth: { path: /, timeout: 11m }\n' });
  expect(planSource(folder, { method: 'docker' })).rejects.toThrow('at most 10m');
});

test('the time until the first byte of an answer can be set, at most to 10 minutes', async () => {
  const plan = (text: string) =>
    planSource(folderOf({ 'svc.yaml': `start: x\ntimeouts: { first_byte: ${text} }\n` }), {
      method: 'docker',
    });
  expect((await plan('5m')).firstByteMs).toBe(300_000);
  expect(plan('11m')).rejects.toThrow('first_byte');
});
