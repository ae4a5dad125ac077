import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { newFolder, removeFolders, runSvc } from '../../testing/run-svc.ts';
import { readManifest } from '../manifest/manifest.ts';

afterAll(removeFolders);

const env = { SVC_BASE_URL: 'http://localhost:4400', SVC_CONFIG_DIR: newFolder() };
const init = (cwd: string, ...more: string[]) => runSvc(['init', ...more], { cwd, env });

describe('svc init', () => {
  test('writes a file that svc accepts, and nothing else', async () => {
    const folder = newFolder();
    await Bun.write(
      `${folder}/package.json`,
      '{"name":"shop","scripts":{"build":"x"},"dependencies":{"astro":"5"}}',
    );
    const ran = await init(folder, '--json');
    const { path, created, manifest, evidence } = JSON.parse(ran.out);
    expect([ran.exit, path, created]).toEqual([0, `${folder}/svc.yaml`, true]);
    expect((await readManifest(path)).manifest).toEqual(manifest);
    expect(evidence).toContainEqual({
      key: 'static.dir',
      value: 'dist',
      because: 'package.json depends on astro',
    });
    expect(readdirSync(folder).sort()).toEqual(['package.json', 'svc.yaml']);
    expect(statSync(path).mode & 0o777).toBe(0o644);
  });

  test('replaces a file only with --force, otherwise exits with 6', async () => {
    for (const name of ['svc.yaml', 'svc.yml']) {
      const folder = newFolder();
      await Bun.write(`${folder}/${name}`, 'name: mine\n');
      const refused = await init(folder, 'Other');
      expect([refused.exit, refused.out]).toEqual([6, '']);
      expect(refused.err).toContain('--force');
      expect(readFileSync(`${folder}/${name}`, 'utf8')).toBe('name: mine\n');
      const forced = await init(folder, 'Other', '--force');
      expect([forced.exit, forced.err]).toEqual([
        0,
        `Review it, then run svc apps create --from-file ${name}\n`,
      ]);
      expect(readdirSync(folder)).toEqual([name]);
      expect((await readManifest(`${folder}/${name}`)).manifest.name).toBe('Other');
    }
  });

  test('with --print prints the file and writes nothing', async () => {
    const folder = newFolder();
    const printed = await init(folder, 'Shop', '--print');
    expect([printed.exit, printed.err, readdirSync(folder)]).toEqual([0, '', []]);
    await init(folder, 'Shop');
    expect(readFileSync(`${folder}/svc.yaml`, 'utf8')).toBe(printed.out);
    expect((await init(folder, 'Other', '--print')).exit).toBe(0);
    expect(JSON.parse((await init(folder, '--print', '--json')).out).created).toBe(false);
  });

  test('reports a broken link like other commands', async () => {
    const folder = newFolder();
    symlinkSync('/no/such/file', `${folder}/svc.yaml`);
    for (const line of [['init'], ['init', '--force'], ['tables', 'list']]) {
      const ran = await runSvc(line, { cwd: folder, env });
      expect([line, ran.exit, ran.out]).toEqual([line, 2, '']);
      expect(ran.err).toStartWith(`Error: ${folder}/svc.yaml is a dangling link.`);
    }
  });

  test('run twice in parallel writes once and fails once', async () => {
    const folder = newFolder();
    const exits = await Promise.all(
      ['A1', 'B1', 'C1', 'D1'].map(async (name) => (await init(folder, name)).exit),
    );
    expect(exits.toSorted()).toEqual([0, 6, 6, 6]);
    expect(readdirSync(folder)).toEqual(['svc.yaml']);
  });

  test('accepts name, slug and tenant as flags', async () => {
    const ran = await init(newFolder(), '--name', 'Web Shop', '--slug', 'shop', '--tenant', 'acme', '--json');
    expect(JSON.parse(ran.out).manifest).toMatchObject({
      name: 'Web Shop',
      tenant: 'acme',
      app: { slug: 'shop' },
    });
    const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';
    const byId = await init(newFolder(), '--tenant', id, '--json');
    expect(JSON.parse(byId.out).manifest.tenant).toBe(id);
  });

  test.each([
    [['a', '--name', 'b'], 'twice'],
    [['--slug', 'Shop'], '--slug'],
    [['--slug', 'abcdefab-abcd-abcd-abcd-abcdefabcdef'], '--slug'],
    [['--slug', 'search'], 'reserved'],
    [['--tenant', 'not a slug!!'], 'tenant'],
    [['--tenant', ''], 'tenant'],
    [['--name', ' '], 'name'],
    [['--name', 'x'.repeat(101)], 'name'],
    [['--print', '--force'], 'cannot be combined'],
    [['a', 'b'], 'too many'],
  ])('%j is a usage error', async (args, named) => {
    const folder = newFolder();
    const ran = await init(folder, ...args);
    expect([ran.exit, readdirSync(folder)]).toEqual([2, []]);
    expect(ran.err).toContain(named);
  });

  test('reads the git remote without running git, and never prints its password', async () => {
    const folder = newFolder();
    mkdirSync(`${folder}/.git`);
    const remote =
      '[core]\n\tbare = false\n[remote "up"]\n\turl = x/other\n[remote "origin"]\n\turl = https://me:hunter2@host/acme/web-shop.git\n\tfetch = +x\n';
    await Bun.write(`${folder}/.git/config`, remote);
    const ran = await init(folder, '--json');
    expect(JSON.parse(ran.out).manifest).toMatchObject({ name: 'web-shop', app: { slug: 'web-shop' } });
    expect(ran.out + ran.err + readFileSync(`${folder}/svc.yaml`, 'utf8')).not.toContain('hunter2');
  });

  test('tolerates paths that are not files, and very large files', async () => {
    const folder = newFolder();
    mkdirSync(`${folder}/package.json`);
    mkdirSync(`${folder}/dist`);
    mkdirSync(`${folder}/dist/index.html`);
    symlinkSync('/no/such/file', `${folder}/Dockerfile.old`);
    await Bun.write(`${folder}/vite.config.ts`, 'x'.repeat(1024 * 1024));
    const ran = await init(folder, '--json');
    expect([ran.exit, JSON.parse(ran.out).manifest.deploy]).toEqual([0, { method: 'docker' }]);
  });

  test.if(process.platform === 'linux')('reports that it cannot write with exit 1', async () => {
    const ran = await init('/proc/self', 'Shop');
    expect([ran.exit, ran.out]).toEqual([1, '']);
    expect(ran.err).toContain('/proc/self/svc.yaml cannot be written');
  });

  test('reports that a deleted folder cannot be read', async () => {
    expect((await init('/no/such/folder')).exit).toBe(2);
  });
});
