import { join } from 'node:path';
import { admin } from './commands.ts';
import { type Call, caller, newTenant, type Tenant } from './people.ts';
import { root } from './server.ts';
import { newPasswordUser, type PasswordUser } from './sign-in.ts';

/** An app with a table of todos, each of which belongs to somebody, and two people who may sign in to it. */
export interface TodoApp {
  tenant: Tenant;
  /** Its slug and its id, which is its client id. */
  app: string;
  appId: string;
  owner: PasswordUser & { call: Call; token: string };
  coOwner: PasswordUser;
  /** A member of the tenant whom a private app does not reach. */
  member: PasswordUser;
}

export async function newTodoApp(): Promise<TodoApp> {
  const tenant = await newTenant();
  const [owner, coOwner, member] = [
    await newPasswordUser(tenant.server, tenant.id),
    await newPasswordUser(tenant.server, tenant.id),
    await newPasswordUser(tenant.server, tenant.id),
  ];
  const { access_token: token } = await admin(tenant.server, ['tokens', 'issue', '--user', owner.email]);
  const call = caller(tenant.server, { authorization: `Bearer ${token}` });
  const make = async (path: string, body: object) => {
    const answer = await call('POST', `${tenant.base}/apps${path}`, body);
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${answer.body.detail}`);
    return answer.body;
  };
  const app = `todo-${Bun.randomUUIDv7().slice(-12)}`;
  const { id: appId } = await make('', { slug: app, name: 'Todo app' });
  await make(`/${app}/co-owners`, { user_id: coOwner.id });
  await make(`/${app}/tables`, {
    name: 'todos',
    owner_column: 'owner',
    columns: [
      'owner:uuid',
      'title:text',
      'done:bool:false',
      'rank:bigint:nullable',
      'due:timestamptz:nullable',
    ],
  });
  return { tenant, app, appId, owner: { ...owner, call, token: token ?? '' }, coOwner, member };
}

/** The SDK as one file of plain JavaScript, as an app would ship it. */
export async function bundled(entry: string): Promise<string> {
  const built = await Bun.build({ entrypoints: [join(root, entry)], target: 'browser', format: 'esm' });
  const [file] = built.outputs;
  if (!file) throw new Error(`${entry} could not be bundled.`);
  return file.text();
}
