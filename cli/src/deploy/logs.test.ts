import { expect, test } from 'bun:test';
import { useFakeServer } from '../../testing/fake-server.ts';
import { interruptWhen, newFolder } from '../../testing/run-svc.ts';

const server = useFakeServer();

function answerWith(app: Record<string, string>): void {
  server.intercept = (_, { path }) => {
    if (path.endsWith('/apps/shop')) return Response.json({ slug: 'shop', ...app });
    return path.endsWith('/logs') ? Response.json({ items: [], next_cursor: 'c', ended: false }) : undefined;
  };
}

test.each([
  [{ deploy_method: 'static', deployment_status: 'deployed' }, 'svc deployments list --app shop'],
  [{ deploy_method: 'docker', deployment_status: 'draft' }, 'svc deploy --app shop'],
  [{ deploy_method: 'docker', deployment_status: 'deployed' }, 'The log is empty.'],
])('an empty log explains why, and what to do: %j', async (app, message) => {
  answerWith(app);
  const ran = await server.svc(['logs', '--app', 'shop']);
  expect([ran.exit, ran.out, ran.err]).toEqual([0, '', expect.stringContaining(message)]);
});

test('following a log that stays empty explains that first', async () => {
  answerWith({ deploy_method: 'static', deployment_status: 'deployed' });
  const ran = await server.svc(['logs', '--app', 'shop', '--follow'], {
    cwd: newFolder(),
    interrupt: interruptWhen(({ err }) => err.includes('static site')),
  });
  expect([ran.exit, ran.err]).toEqual([130, expect.stringContaining('static site')]);
});
