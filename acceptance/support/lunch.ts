import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { svcFor } from './commands.ts';
import { newVisitor, type Visitor } from './console/world.ts';
import { setApp } from './database.ts';
import { done, newApp, newTenant } from './people.ts';
import { folderOf, type RunningServer, root } from './server.ts';
import { bundleForBrowser } from './todo-app.ts';

export type Lunch = Awaited<ReturnType<typeof newLunch>>;

const sample = (file: string) => readFileSync(join(root, 'acceptance/samples/lunch', file), 'utf8');

/**
 * The sample app, deployed with the tables of its svc.yaml. Ada and Ben order lunch, and Mona is a manager; `owner` deployed
 * it.
 */
export async function newLunch(on?: RunningServer) {
  const tenant = await newTenant(on);
  const { server, member: owner } = tenant;
  const app = await newApp(tenant, { owner }, { name: 'Lunch', deploy_method: 'static' });
  const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
  const settings = { baseUrl: server.baseUrl, tenant: tenant.slug, app: app.slug, appId: app.id };
  const html = sample('index.html').replace(
    /(<script type="application\/json" id="settings">)[^<]*/,
    (_, tag) => tag + JSON.stringify(settings),
  );
  const folder = folderOf({
    'svc.yaml': sample('svc.yaml'),
    'style.css': sample('style.css'),
    'index.html': html,
    'app.js': await bundleForBrowser('acceptance/samples/lunch/app.ts'),
  });
  const deploy = () => svc(['deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json']);
  const deployed = await deploy();
  if (deployed.code !== 0) throw new Error(`The app was not deployed: ${deployed.stdout}${deployed.stderr}`);
  await setApp(server, app.id, { visibility: 'invite_only' });
  const names = ['Ada', 'Ben', 'Mona'];
  const [ada, ben, mona] = await Promise.all(
    names.map((name) => newVisitor(server, tenant.id, `${name} Example`)),
  );
  const people = { ada: ada!, ben: ben!, mona: mona! };
  for (const person of Object.values(people))
    await done(owner.call('POST', `${app.base}/members`, { user_id: person.id }));
  await done(owner.call('POST', `${app.base}/roles`, { role: 'manager', user: people.mona.id }));
  const data = `/data/${tenant.slug}/${app.slug}`;
  return { tenant, server, app, owner, svc, deploy, folder, data, ...people };
}

export type Eater = Visitor;
