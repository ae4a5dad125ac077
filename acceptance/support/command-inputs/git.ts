import { onDatabase } from '../app-runtime.ts';
import type { CommandLine } from '../command-inputs.ts';
import { admin } from '../commands.ts';
import { approveCode, pageRepository } from '../git-repos.ts';
import { caller } from '../people.ts';
import { newRun, templateOf } from '../reach/bootstraps.ts';
import { emptyRepo, plantedLink } from '../reach/git.ts';
import { adminsApp } from '../reach.ts';
import { newPasswordUser } from '../sign-in.ts';
import type { World } from '../world.ts';

type Inputs = (world: World) => Promise<string[] | CommandLine> | string[] | CommandLine;

/** How the commands about the git host, and those that make apps with it, are typed. */
export const gitInputs: Readonly<Record<string, Inputs>> = {
  'git-host accounts list': () => [],
  'git-host accounts unlink': async (world) => [await plantedLink(world, world.people.A)],
  'git-host installations list': async (world) => {
    await emptyRepo(world, world.people.A);
    return [];
  },
  'git-host installations repos': async (world) => {
    await emptyRepo(world, world.people.A);
    return [];
  },
  'git-host link': approvedCode,
  'git-host complete': async (world) => {
    const repo = await emptyRepo(world, world.people.A);
    const git = `${world.tenant.base}/apps/${await adminsApp(world)}/git`;
    const begun = await world.as.A('POST', `${git}/begin`, { repo });
    return ['--state', begun.body.state];
  },
  'apps git connect': async (world) => [
    ...['--app', await adminsApp(world), '--repo', await emptyRepo(world, world.people.A)],
  ],
  'apps git status': async (world) => ['--app', await connectedApp(world)],
  'apps git update': async (world) => ['--app', await connectedApp(world), '--branch', 'release'],
  'apps git disconnect': async (world) => ['--app', await connectedApp(world)],
  'apps detect': async (world) => ['--repo', await pageRepository(world.tenant, world.people.A)],
  'apps bootstrap': async (world) => ['--template', await templateOf(world), '--slug', unique('boot')],
  'apps bootstrap-status': async (world) => [(await newRun(world, world.people.A)).id],
  'apps bootstrap-cancel': async (world) => [await waitingRun(world)],
  'apps fork': async (world) => [
    ...[await adminsApp(world), '--slug', unique('fork'), '--template', await templateOf(world)],
  ],
};

const unique = (word: string) => `${word}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;

/** An app of the admin's own that is deployed from a repository of theirs. */
async function connectedApp(world: World): Promise<string> {
  const app = await adminsApp(world);
  const repo = await emptyRepo(world, world.people.A);
  const made = await world.as.A('POST', `${world.tenant.base}/apps/${app}/git`, { repo });
  if (made.status !== 201) throw new Error(`It could not be connected: ${JSON.stringify(made.body)}`);
  return app;
}

/** Somebody who can sign in at the page of the host, and has approved a code there. */
async function approvedCode({ tenant }: World): Promise<CommandLine> {
  const { server, base } = tenant;
  const person = await newPasswordUser(server, tenant.slug);
  const { access_token } = await admin(server, ['tokens', 'issue', '--user', person.email]);
  const call = caller(server, { authorization: `Bearer ${access_token}` });
  const { body } = await call('POST', `${base}/git-host/link`);
  await approveCode({ address: body.verification_uri, code: body.user_code }, person);
  return { args: ['--device-code', body.device_code], env: { SVC_TOKEN: access_token } };
}

/** A run of the admin's that waits for an approval, as with a git host elsewhere: it does not end by itself. */
async function waitingRun({ tenant, people }: World): Promise<string> {
  const id = Bun.randomUUIDv7();
  const text = `with run as (
      insert into svc.bootstrap_runs
        (id, tenant_id, kind, state, input, input_hash, slug, approval_until, created_by, created_at)
      values ($1, $2, 'bootstrap', 'awaiting_approval', '{}', '', $3, now() + interval '1 hour', $4, now())
      returning id)
    insert into svc.bootstrap_steps (run_id, name, state)
    select run.id, step, 'waiting' from run, unnest(array['authorize', 'reserve_app', 'create_repo', 'seed_repo',
      'connect', 'first_deploy']) step`;
  await onDatabase(tenant.server, text, [id, tenant.id, unique('waits'), people.A.id]);
  return id;
}
