import { join } from 'node:path';
import { done, newApp, newPasswordUser, newTenant, uniqueName, withToken } from './people.ts';
import { root } from './server.ts';

export type TodoApp = Awaited<ReturnType<typeof newTodoApp>>;

/**
 * A private app with a table of todos, each with an owner. Owner, co-owner and a member of the tenant without a role in
 * the app sign in with a password.
 */
export async function newTodoApp() {
  const tenant = await newTenant();
  const newUser = () => newPasswordUser(tenant.server, tenant.id);
  const owner = await withToken(tenant.server, await newUser());
  const [coOwner, member] = [await newUser(), await newUser()];
  const app = await newApp(tenant, { owner }, { slug: uniqueName('todo'), name: 'Todo app' });
  await done(owner.call('POST', `${app.base}/co-owners`, { user_id: coOwner.id }));
  const columns = 'owner:uuid title:text done:bool:false rank:bigint:nullable due:timestamptz:nullable';
  const table = { name: 'todos', owner_column: 'owner', columns: columns.split(' ') };
  await done(owner.call('POST', `${app.base}/tables`, table));
  return { tenant, app: app.slug, appId: app.id, owner, coOwner, member };
}

/** The SDK as one file of plain JavaScript, as an app would ship it. */
export async function bundleForBrowser(entry: string): Promise<string> {
  const built = await Bun.build({ entrypoints: [join(root, entry)], target: 'browser', format: 'esm' });
  const [file] = built.outputs;
  if (!file) throw new Error(`${entry} could not be bundled.`);
  return file.text();
}
