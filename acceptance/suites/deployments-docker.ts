import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type DockerEngine, hasDockerEngine, startDockerEngine } from '../../scripts/docker-engine.ts';
import { type Svc, svcFor } from '../support/commands.ts';
import { setApp } from '../support/database.ts';
import { type App, newApp } from '../support/people.ts';
import { type Files, folderOf, type RunningServer, startServer, temporaryFolder } from '../support/server.ts';
import { everyNth, until } from '../support/until.ts';
import { newWorld, type World } from '../support/world.ts';

export function deploymentsDocker({ nth }: { nth: number }): void {
  interface Deployed {
    id: string;
    state: string;
    url: string;
    failure: { code: string; step: string; detail: string } | null;
  }

  /** Each tries to access a resource outside the app; all errors name the option beside the code. */
  const hostile: [line: string, text: string][] = [
    ['privileged: true', 'service web: privileged'],
    ['network_mode: host', 'service web: network_mode'],
    ['volumes: ["/:/host"]', 'service web: volumes'],
    ['volumes: ["/var/run/docker.sock:/s"]', 'service web: volumes'],
    ['cap_add: [ALL]', 'service web: cap_add'],
    ['env_file: /proc/self/environ', 'service web: env_file'],
  ];

  describe.if(hasDockerEngine)('apps as containers', () => {
    let engine: DockerEngine;
    let server: RunningServer;
    let world: World;
    let asOwner: Svc;
    let env: Record<string, string>;

    beforeAll(async () => {
      engine = await startDockerEngine(join(temporaryFolder(), 'engine'));
      env = {
        SVC_RUNTIME: 'docker',
        SVC_DOCKER_HOST: engine.host,
        SVC_DOCKER_ADDRESS: engine.address,
        SVC_DOCKER_BASE_IMAGE: engine.baseImage,
        SVC_TEST_SECRET: 'of-the-server-alone',
      };
      server = await startServer({ env });
      world = await newWorld(server);
      asOwner = svcFor(server, { token: world.people.O.token, tenant: world.tenant.slug });
    });
    afterAll(async () => {
      await server?.stop();
      await engine?.stop();
    });

    const answers = (text: string) =>
      `console.log('up ${text}');
require('node:http').createServer((_, response) => response.end(${JSON.stringify(text)} + ' ' + process.env.WORD))
  .listen(Number(process.env.PORT), process.env.HOST);
setInterval(() => console.log('still ${text} ' + process.env.TOKEN), 100);
process.on('SIGTERM', () => process.exit(0));
`;
    const source = (text: string): Files => ({
      'app.js': answers(text),
      'svc.yaml':
        'build:\n  command: node --version > built.txt\nstart: node app.js\nenv:\n  WORD: greeting\n',
    });

    async function newOpenApp(method: 'docker' | 'compose'): Promise<App & { host: string }> {
      const app = await newApp(
        world.tenant,
        { owner: world.people.O, coOwner: world.people.C },
        { deploy_method: method },
      );
      await setApp(server, app.id, { visibility: 'internet' });
      await world.as.A('PATCH', world.tenant.base, { review_deployments: 'off' });
      const { body } = await world.as.O('GET', app.base);
      return { ...app, host: `${body.subdomain}.apps.localhost` };
    }
    const deploy = (app: App, files: Files) =>
      asOwner(['deploy', '--app', app.id, '--from-dir', folderOf(files), '--execute', '--json']);
    const deployWell = async (app: App, files: Files) => {
      const ran = await deploy(app, files);
      expect([ran.code, ran.json<Deployed>().failure]).toEqual([0, null]);
    };
    const answer = async ({ host }: { host: string }) => {
      const got = await fetch(`http://127.0.0.1:${server.port}/`, {
        headers: { host: `${host}:${server.port}` },
      }).catch(() => null);
      return got ? `${got.status} ${await got.text()}` : 'silent';
    };
    const becomes = (app: { host: string }, text: string) =>
      until(`it answers ${text}`, async () => (await answer(app)) === text, 40_000);
    const containersOf = async ({ id }: App) =>
      (await engine.docker('ps', '-q', '--filter', `label=svc.app=${id}`)).split('\n').filter(Boolean);

    test('are built from a folder, switched, rolled back, and found again after the server was killed', async () => {
      const app = await newOpenApp('docker');
      const token = 'sk-very-secret-of-the-app';
      expect((await asOwner(['env', 'set', `TOKEN=${token}`, '--app', app.id, '--execute'])).code).toBe(0);
      const first = await deploy(app, source('one'));
      expect([first.code, first.json<Deployed>()]).toMatchObject([0, { state: 'live', failure: null }]);
      expect(first.stderr).toContain('node --version > built.txt');
      await becomes(app, '200 one greeting');
      const broken = await deploy(app, {
        ...source('broken'),
        'app.js': 'process.exit(4)',
        'svc.yaml': 'start: node app.js\nhealth:\n  path: /\n  timeout: 3s\n',
      });
      expect([broken.code, broken.json<Deployed>().state]).toEqual([9, 'failed']);
      expect(await answer(app)).toBe('200 one greeting');
      await deployWell(app, source('two'));
      await becomes(app, '200 two greeting');
      const back = await asOwner([
        'deployments',
        'rollback',
        first.json<Deployed>().id,
        '--app',
        app.id,
        '--execute',
        '--json',
      ]);
      expect([back.code, back.json<Deployed>().state]).toEqual([0, 'live']);
      await becomes(app, '200 one greeting');
      await until('only one is left', async () => (await containersOf(app)).length === 1, 60_000);

      const [container] = await containersOf(app);
      server.signal('SIGKILL');
      await server.exited;
      const { dataDir, port } = server;
      server = await startServer({ dataDir, port, env });
      await becomes(app, '200 one greeting');
      expect(await containersOf(app)).toEqual([container!]);
      // Its log lines are collected again, too.
      const lines = async () => {
        const { stdout } = await asOwner(['logs', '--app', app.id]);
        return stdout.split('\n').filter((line) => line.includes('still one'));
      };
      const before = (await lines()).length;
      await until('it is heard again', async () => (await lines()).length > before + 5, 30_000);
      // By a server that has not received the secret.
      expect((await lines()).filter((line) => !line.includes('still one ***'))).toEqual([]);
      expect(JSON.stringify(await asOwner(['logs', '--app', app.id]))).not.toContain(token);
      await asOwner(['apps', 'suspend', app.id, '--execute']);
      await until('nothing of it runs', async () => (await containersOf(app)).length === 0, 60_000);
    });

    test.concurrent('are built from a Dockerfile by the engine, with its steps and its port, and answer at their host', async () => {
      const app = await newOpenApp('docker');
      const files = (text: string): Files => ({
        Dockerfile: `FROM ${engine.baseImage} AS build
WORKDIR /src
COPY words.txt .
RUN tr a-z A-Z < words.txt > made.txt && echo "made $(cat made.txt)"
FROM ${engine.baseImage}
COPY --from=build /src/made.txt /srv/
COPY app.js /srv/
WORKDIR /srv
ENV WORD=image
EXPOSE 4567
USER 1234
CMD ["node", "app.js"]
`,
        '.dockerignore': 'secret.txt\n',
        'secret.txt': 'not for the image',
        'words.txt': text,
        'app.js': `const { existsSync, readFileSync } = require('node:fs');
require('node:http').createServer((_, response) => response.end([readFileSync('made.txt', 'utf8').trim(),
  process.env.WORD, process.getuid(), existsSync('secret.txt')].join(' '))).listen(process.env.PORT);
process.on('SIGTERM', () => process.exit(0));
`,
      });
      const first = await deploy(app, files('one'));
      expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('made ONE')]);
      await becomes(app, '200 ONE image 1234 false');
      const [container = ''] = await containersOf(app);
      const image = await engine.docker('inspect', '--format', '{{.Image}}', container);
      const steps = await engine.docker('history', '--no-trunc', '--format', '{{.CreatedBy}}', image.trim());
      expect(steps).toMatch(/USER 1234\n.*EXPOSE 4567\n.*ENV WORD=image\n/);
      await deployWell(app, files('two'));
      await becomes(app, '200 TWO image 1234 false');
      const broken = await deploy(app, {
        ...files('three'),
        Dockerfile: `FROM ${engine.baseImage}\nRUN exit 7\n`,
      });
      expect([broken.code, broken.json<Deployed>().failure?.step]).toEqual([9, 'build']);
      expect(await answer(app)).toBe('200 TWO image 1234 false');
    });

    test.concurrent("run a compose app without the server's variables, and commands in its main service", async () => {
      const app = await newOpenApp('compose');
      const ran = await deploy(app, {
        'web/Dockerfile': `FROM ${engine.baseImage}\nCOPY *.js /\nCMD ["node", "/app.js"]\n`,
        'web/see.js': "require('node:dns').lookup('side', (error) => console.log(error ?? 'sees side'))",
        'web/app.js': answers('composed'),
        'compose.yaml': `services:
  web: { build: web, expose: [8080], environment: { WORD: "x\${SVC_TEST_SECRET}\${SVC_DOCKER_HOST}y" } }
  side: { image: "${engine.baseImage}", command: ["sleep", "1000"] }
`,
        'svc.yaml': `release: echo released as $SVC_ENVIRONMENT
schedules: [{ name: nightly, cron: "0 3 * * *", run: node /see.js }]
`,
      });
      expect([ran.code, ran.json<Deployed>().state]).toEqual([0, 'live']);
      expect(ran.stderr).toContain('released as production');
      await becomes(app, '200 composed xy');
      expect(await containersOf(app)).toHaveLength(2);
      const once = await asOwner(['run', '--app', app.id, '--', 'echo $WORD; exit 5']);
      expect([once.code, once.stdout]).toEqual([5, 'xy\n']);
      const due = await asOwner(['schedules', 'run', 'nightly', '--app', app.id, '--execute']);
      expect([due.code, due.stdout]).toEqual([0, expect.stringContaining('sees side')]);
      expect(await containersOf(app)).toHaveLength(2);
    });

    test.concurrent('with volumes stop before their next version starts, and requests meanwhile get 503', async () => {
      const app = await newOpenApp('compose');
      const files = (text: string): Files => ({
        Dockerfile: `FROM ${engine.baseImage}\nCOPY app.js /\nCMD ["node", "/app.js"]\n`,
        'app.js': answers(text),
        'compose.yaml':
          'services:\n  web: { build: ., expose: [8080], environment: { WORD: greeting }, volumes: ["data:/data"] }\nvolumes: { data: }\n',
      });
      await deployWell(app, files('one'));
      await becomes(app, '200 one greeting');
      const seen = new Set<string>();
      let isOver = false;
      const asking = (async () => {
        for (; !isOver; await Bun.sleep(20)) seen.add((await answer(app)).slice(0, 16));
      })();
      await deployWell(app, files('two'));
      await becomes(app, '200 two greeting');
      isOver = true;
      await asking;
      const others = [...seen].filter((each) => !each.startsWith('503'));
      expect([others, seen.size > others.length]).toEqual([['200 one greeting', '200 two greeting'], true]);
    });

    test('refuse a compose file with access to the host before anything changes', async () => {
      const app = await newOpenApp('compose');
      const inEngine = async () =>
        `${await engine.docker('images', '-q')}${await engine.docker('ps', '-aq')}`.split('\n');
      const before = new Set(await inEngine());
      for (const [line, text] of everyNth(hostile, nth)) {
        const ran = await deploy(app, {
          Dockerfile: `FROM ${engine.baseImage}\nRUN echo built\n`,
          'compose.yaml': `services:\n  web:\n    build: .\n    expose: [8080]\n    ${line}\n`,
        });
        expect([
          line,
          ran.code,
          ran.json<Deployed>().failure?.step,
          ran.json<Deployed>().failure?.detail,
        ]).toEqual([line, 9, 'detect', expect.stringContaining(text)]);
      }
      // What other apps no longer need is removed meanwhile.
      expect((await inEngine()).filter((id) => !before.has(id))).toEqual([]);
    });
  });
}
