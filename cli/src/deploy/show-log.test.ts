import { afterAll, expect, test } from 'bun:test';
import { startFakeServer } from '../../testing/fake-server.ts';
import { newFolder, removeFolders, runSvc } from '../../testing/run-svc.ts';

const server = startFakeServer();
server.oauth.tokens.add('good');
afterAll(() => server.stop());
afterAll(removeFolders);

const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'good', SVC_TENANT: 'demo', SVC_CONFIG_DIR: newFolder() };

function says(app: Record<string, string>): void {
  server.intercept = (_, { path }) => {
    if (path.endsWith('/apps/shop')) return Response.json({ slug: 'shop', ...app });
    return path.endsWith('/logs') ? Response.json({ items: [], next_cursor: 'c', ended: false }) : undefined;
  };
}

test.each([
  [{ deploy_method: 'static', deployment_status: 'deployed' }, 'svc deployments list --app shop'],
  [{ deploy_method: 'docker', deployment_status: 'draft' }, 'svc deploy --app shop'],
  [{ deploy_method: 'docker', deployment_status: 'deployed' }, 'Nothing was written yet.'],
])('an empty log of an app says why, and what to do: %j', async (app, said) => {
  says(app);
  const ran = await runSvc(['logs', '--app', 'shop'], { env, cwd: newFolder() });
  expect([ran.exit, ran.out, ran.err]).toEqual([0, '', expect.stringContaining(said)]);
});

test('a log to which nothing can come is followed with that said first', async () => {
  says({ deploy_method: 'static', deployment_status: 'deployed' });
  const ran = await runSvc(['logs', '--app', 'shop', '--follow'], {
    ...{ env, cwd: newFolder() },
    interrupt: (stop) => setTimeout(stop, 100),
  });
  expect([ran.exit, ran.err]).toEqual([130, expect.stringContaining('static site')]);
});
