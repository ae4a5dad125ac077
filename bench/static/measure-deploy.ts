import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp, root, type Server } from '../rows/start-server.ts';
import { flag } from './flags.ts';

const fileCount = flag('files', 10_000);
const unchangedSecondsMax = 2;

interface Deployed {
  files: number;
  uploaded: { files: number; bytes: number };
}

export async function measureDeploy(server: Server): Promise<void> {
  const { slug } = await createApp(server, 'bench-deploy');
  const folder = join(server.folder, 'site');
  for (let at = 0; at < fileCount; at++) {
    const subfolder = join(folder, `part-${Math.floor(at / 200)}`);
    if (at % 200 === 0) mkdirSync(subfolder, { recursive: true });
    writeFileSync(join(subfolder, `page-${at}.html`), Buffer.alloc(1024, `page ${at} `));
  }
  writeFileSync(join(folder, 'index.html'), 'The first.');
  const { access_token } = server.admin('tokens', 'issue', '--user', 'admin@demo.localhost');
  const blobs = async () => {
    const [row] = await server.sql<{ count: number }>(
      `select count(*)::int as count from svc.static_blobs b join svc.apps a on a.id = b.app_id where a.slug = '${slug}'`,
    );
    return row?.count ?? 0;
  };
  const deploy = async (version: string) => {
    const before = await blobs();
    const startedAt = performance.now();
    const args = ['--app', slug, '--from-dir', folder, '--release-version', version];
    const child = Bun.spawn(
      [join(root, 'svc'), 'apps', 'static', 'deploy', ...args, '--execute', '--json', '--timeout', '10m'],
      {
        env: {
          ...process.env,
          SVC_BASE_URL: `http://localhost:${server.port}`,
          SVC_CONFIG_DIR: join(server.folder, 'config'),
          SVC_TENANT: 'demo',
          SVC_TOKEN: access_token ?? '',
        },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      },
    );
    const [text, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(`svc apps static deploy: ${errors}`);
    const seconds = (performance.now() - startedAt) / 1000;
    const { uploaded } = JSON.parse(text) as Deployed;
    return { seconds, sent: uploaded.files, stored: (await blobs()) - before };
  };

  console.log(`\ndeploy of ${(fileCount + 1).toLocaleString('en')} files by the command line`);
  const first = await deploy('first');
  console.log(`  all of them new: ${first.seconds.toFixed(2)} s, ${first.sent} sent`);
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const repeated = await deploy(`again ${round}`);
    if (repeated.sent !== 0) throw new Error(`${repeated.sent} were sent although nothing had changed.`);
    times.push(repeated.seconds);
  }
  const unchanged = times.sort((a, b) => a - b)[1] ?? 0;
  console.log(
    `  unchanged: ${unchanged.toFixed(2)} s (median of 3), goal < ${unchangedSecondsMax} s: ${unchanged < unchangedSecondsMax ? 'PASS' : 'MISS'}`,
  );
  writeFileSync(join(folder, 'index.html'), 'The second.');
  const changed = await deploy('changed');
  const isOne = changed.sent === 1 && changed.stored === 1;
  console.log(
    `  one file changed: ${changed.seconds.toFixed(2)} s, ${changed.sent} sent, ${changed.stored} stored, goal exactly 1: ${isOne ? 'PASS' : 'MISS'}`,
  );
}
