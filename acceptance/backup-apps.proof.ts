import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { svcFor } from './support/commands.ts';
import { json, withLockFile } from './support/corpus.ts';
import { bearer, caller, newApp, newTenant } from './support/people.ts';
import {
  type Files,
  type RunningServer,
  startEmbedded,
  temporaryFolder,
  writeFiles,
} from './support/server.ts';
import { askHost, type SiteGround, siteOf, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';
import { backupFile, svcAdmin } from './support/whole-system.ts';

/** A server in a package of its own, which is started by the program in `node_modules/.bin` and changes a file of its build. */
const withProgram = (text: string, more: object = {}): Files => ({
  'package.json': json({
    name: 'web',
    scripts: { start: 'tiny' },
    dependencies: { tiny: 'file:./tiny' },
    ...more,
  }),
  'tiny/package.json': json({ name: 'tiny', version: '1.0.0', bin: { tiny: 'cli.js' } }),
  'tiny/cli.js': `#!/usr/bin/env node
require('node:fs').appendFileSync('data/starts.txt', 'one more\\n');
require('node:http').createServer((request, response) => response.end(${JSON.stringify(text)})).listen(process.env.PORT);
`,
  'data/starts.txt': '',
});

const python: Files = {
  'requirements.txt': '# Nothing but Python.\n',
  'server.py': `import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(('python ' + str(sys.prefix != sys.base_prefix)).encode())
http.server.HTTPServer(('0.0.0.0', int(os.environ['PORT'])), Handler).serve_forever()
`,
};

const projects: readonly [string, (folder: string) => Promise<void>][] = [
  ['npm', async (folder) => writeFiles(folder, withProgram('npm'))],
  ['pnpm', withLockFile('pnpm@10 install --lockfile-only', withProgram('pnpm'))],
  ['python True', async (folder) => writeFiles(folder, python)],
];

test('apps with linked packages and virtual environments run after a restore onto an empty machine', async () => {
  // The tools are in the data dir, and are not in the back-up.
  const env = { SVC_SEED: 'none', SVC_TOOLCHAIN_DIR: '' };
  const first = await startEmbedded({ env });
  const tenant = await newTenant(first);
  const owner = tenant.member;
  const svc = svcFor(first, { token: owner.token, tenant: tenant.slug });
  const sites: [string, SiteGround][] = [];
  for (const [text, create] of projects) {
    const folder = join(temporaryFolder(), 'project');
    await create(folder);
    const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
    const ran = await svc(['deploy', '--app', app.id, '--from-dir', folder, '--execute']);
    expect([text, ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([text, 0, '']);
    sites.push([text, siteOf(tenant, app)]);
  }
  const expectAnswers = async (server: RunningServer) => {
    for (const [text, site] of sites) {
      const here = { ...site, server, tenant: { ...tenant, server } };
      const cookie = await visitorCookie(here, { ...owner, call: caller(server, bearer(owner)) });
      const ask = () => askHost(server, `${site.host}:${server.port}`, '/', { headers: { cookie } });
      await until(`${text} answers`, async () => (await ask()).text === text, 120_000);
    }
  };
  await expectAnswers(first);
  const file = backupFile('apps.tar.gz');
  const made = await svcAdmin(first.env, 'backup', '--to', file);
  expect([made.code, made.json<{ left_out: string[] }>().left_out]).toEqual([0, []]);
  expect(await first.stop()).toBe(0);

  const dataDir = join(temporaryFolder(), 'data');
  const restored = await svcAdmin({ ...first.env, SVC_DATA_DIR: dataDir }, 'restore', '--from', file);
  expect([restored.code, restored.stderr, existsSync(join(dataDir, 'toolchains'))]).toEqual([0, '', false]);
  const second = await startEmbedded({ dataDir, env });
  await expectAnswers(second);
  expect(await second.stop()).toBe(0);
});
