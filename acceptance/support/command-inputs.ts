import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { staticSource } from './apps.ts';
import * as delivery from './delivery-fixtures.ts';
import type { Fixture } from './fixtures.ts';
import * as fixtures from './fixtures.ts';
import { png } from './images.ts';
import { done, newPasswordUser, uniqueName, withToken } from './people.ts';
import { folderOf, temporaryFolder } from './server.ts';
import { answerLogin } from './sign-in.ts';
import type { World } from './world.ts';

/** A line that succeeds for the tenant's admin, without the words of the command. */
export interface CommandLine {
  args: string[];
  stdin?: string;
  env?: Record<string, string | undefined>;
  cwd?: string;
}

type Input = (world: World) => Promise<CommandLine> | CommandLine;

/**
 * Arguments, separated by spaces, or quoted. `{name}` is a parameter of one of the fixtures, whose owner is the admin, or
 * one of those below.
 */
const line =
  (text: string, ...made: Fixture[]): Input =>
  async (world) => {
    const { A, M, C } = world.people;
    const known = { tenant: world.tenant.slug, sharedApp: world.app.slug, member: M.email };
    const params: Record<string, string> = { ...known, memberID: M.id, coOwnerID: C.id };
    for (const fixture of made) Object.assign(params, await fixture(world, A, 'A'));
    const fill = (word: string) =>
      word.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'unique' ? uniqueName('c') : params[name]!));
    return { args: [...text.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => fill(quoted ?? word!)) };
  };

/** A file of this name and content, as `{file}`. */
const file =
  (name: string, content: string | Uint8Array): Fixture =>
  () => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, content);
    return { file: path };
  };

const rowsFile = file('rows.jsonl', '{"name":"Ada","age":2}\n{"name":"Bo","age":null}\n');
const operationsFile = file(
  'ops.json',
  '{"operations":[{"op":"insert","table":"pets","values":{"name":"Ada","age":2}}]}',
);
const tableFile = file(
  'table.yaml',
  'columns:\n  - name:text\n  - { name: keeper, type: uuid, nullable: true }\n',
);
const schemaFile = file(
  'tables.yaml',
  'roles: [manager]\ntables:\n  menu: { columns: [dish:text], access: { read: [any], write: [role:manager] } }\n',
);
const photoFile = file('rex.png', 'abc');
const policyFile = file(
  'policy.yaml',
  `row_filter: region=eq.eu
columns: { mode: deny, names: [salary] }
masks: [{ column: email, kind: partial, args: { first: 2 } }]
`,
);
const folder: Fixture = () => ({ folder: folderOf(staticSource()) });
const host: Fixture = () => ({ host: fixtures.newHost() });
const activeSite: Fixture = async (world, owner) => {
  const { app } = await fixtures.releaseIn('active')(world, owner);
  const { url } = (await owner.call('GET', `${world.tenant.base}/apps/${app}/static/site`)).body;
  return { app, url };
};
const releaseBody = JSON.stringify(fixtures.releaseBody);
const { appIn, appWithObject, connector, grant, policy, preset, privateApp, releaseIn } = fixtures;
const { row, serviceAccount, supersededDeployment, table } = fixtures;
const requestOfMember: Fixture = (world) => fixtures.grantRequest(world, world.people.M);
const release = '--app {app} --release-id {release}';
const none = line('');

/** By the words of the command, several where they share an input. Each call creates new records. */
const sharedInputs: Readonly<Record<string, Input>> = {
  login: ({ people: { A } }) => ({ args: ['--token-stdin'], stdin: `${A.token}\n`, env: withoutLogin() }),
  logout: () => ({ args: [], env: withoutLogin() }),
  'whoami, exit-codes, version, tenants list, tenants get, members list, sessions list, pats list': none,
  'account sign-ins, account factors list, profiles list, config list, groups list': none,
  'config get, config unset': () => ({ args: ['output'], env: withoutLogin() }),
  'config set': () => ({ args: ['output', 'wide'], env: withoutLogin() }),
  'profiles use, profiles remove': () => ({ args: ['default'], env: withoutLogin() }),
  'profiles add': () => ({ args: ['work', '--base-url', 'http://localhost:1'], env: withoutLogin() }),
  'audit list, connectors list, presets list, grants mine, grants tables, grants list, policies list, policies warnings':
    none,
  'categories list, apps list, apps mine, apps owned, apps received, apps workspace': none,
  'apps resource-presets, apps templates list, git-host accounts list, grants requests list': none,
  'grants requests options, access log': none,
  init: () => ({ args: ['Web shop', '--slug', 'web-shop'], cwd: temporaryFolder() }),
  completion: line('bash'),
  schema: line('grants create'),
  open: line('{sharedApp} --no-browser'),
  'tenants use': line('{tenant}'),
  'tenants update': line('--name {unique}'),
  'members set': line('{userID} --role tenant_member', fixtures.userOutsideTenant),
  'members get, members remove': line('{userID}', fixtures.userInTenant),
  'groups get, groups delete, groups members list': line('{group}', fixtures.group),
  'groups create': line("{unique} --display-name 'A group' --description 'Of people'"),
  'groups update': line('{group} --description changed', fixtures.group),
  'groups members add': line('{group} --user {member}', fixtures.group),
  'groups members remove': line('{group} --user {userID}', fixtures.groupWithMember),
  'account factors rename': line("{factorID} --name 'Key at work'", fixtures.factor),
  'account factors remove': async (world) => {
    const { factorID, password } = await fixtures.factor(world, world.people.A);
    return { args: [factorID, '--password-stdin'], stdin: `${password}\n` };
  },
  'account password': async (world) => {
    const { password } = await fixtures.password(world, world.people.A, 'A');
    return { args: ['--password-stdin'], stdin: `${password}\ntulip anvil ${uniqueName('w')}\n` };
  },
  'sessions revoke': line('{sessionID}', fixtures.session),
  'pats create': line('--name {unique} --actions read,write --expires-in-days 7'),
  'pats revoke': line('{patID}', fixtures.pat),
  'notifications list': line('--unread'),
  'notifications read': line('{notification}', fixtures.notification),
  'connectors get, connectors delete': line('{connectorID}', connector),
  'connectors test, connectors schema refresh, connectors tables': line(
    '{connectorID}',
    fixtures.appConnector,
  ),
  'connectors create': line('{unique} --kind postgres'),
  'connectors update': line('{connectorID} --description changed', connector),
  'presets get, presets delete': line('{presetID}', preset),
  'presets create': line('--name {unique} --actions read,export'),
  'presets update': line('{presetID} --actions read,export', preset),
  'grants get': line('{grantID}', grant),
  'grants create': line(
    `--subject {member} --connector {connectorID} --preset reader
     --scope sales,hr/people --policy {policyID} --reason 'asked for it'`,
    connector,
    policy,
  ),
  'grants request': line(
    "--connector {connectorID} --preset reader --scope sales --expires-in 8h --reason 'a report'",
    connector,
  ),
  'grants requests show, grants requests withdraw': line('{request}', fixtures.grantRequest),
  'grants requests approve': line('{request} --policy {policyID}', requestOfMember, policy),
  'grants requests policies': line('{request}', requestOfMember),
  'grants requests reject': line('{request} --reason no', requestOfMember),
  'grants revoke': line('{grantID} --reason over', grant),
  'grants scope set': line('{grantID} sales hr/people', grant),
  'access preview': line('--as {memberID} --connector {connectorID} --resource-path sales/orders', connector),
  'access check': line('--subject {memberID} --connector {connectorID} --action read', connector),
  'policies get, policies delete': line('{policyID}', policy),
  'policies create': line('--from-file {file} --name {unique}', policyFile),
  'policies update': line('{policyID} --enabled=false', policy),
  'categories get': line('{categorySlug}', fixtures.category),
  'categories create': line(
    `--name {unique} --color #00897b --display-order 10 --description 'What stands in it'`,
  ),
  'categories update': line('{categorySlug} --display-order 20', fixtures.category),
  'categories delete': line('{categoryID}', fixtures.category),

  metrics: line('--app {sharedApp} --range 24h'),
  'apps get, apps members list': line('{sharedApp}'),
  'apps discover': line('--created-within-days 30'),
  'apps search': line("'pet shop'"),
  'apps check-availability': line('--slug pet-shop --subdomain {unique}'),
  'apps create': line(
    `--name {unique} --summary 'Everything for pets' --resource-tier M --category {categorySlug}
     --data-scopes orders,people --auth-mode bearer`,
    fixtures.category,
  ),
  'apps update': line(
    "{app} --summary 'Everything for pets' --clear-subdomain --cost-center 4711",
    privateApp,
  ),
  'apps openapi': line('{app}', table),
  'apps archive, apps delete': line('{app}', appIn('active')),
  'apps reactivate': line('{app}', appIn('archived')),
  'apps suspend': line('{app}', appIn('running')),
  'service-accounts list': line('--app {sharedApp}'),
  'service-accounts create': line('{unique} --app {app} --actions rows,storage', privateApp),
  'service-accounts get, service-accounts delete, service-accounts tokens list': line(
    '{account} --app {app}',
    serviceAccount,
  ),
  'service-accounts update': line('{account} --app {app} --actions rows', serviceAccount),
  'service-accounts tokens create': line('{account} --app {app} --name {unique}', serviceAccount),
  'service-accounts tokens revoke': line('{account} {tokenID} --app {app}', fixtures.serviceToken),
  'service-accounts trust add': line('{account} --app {app} --github acme/shop@main', serviceAccount),
  'service-accounts trust remove': line('{account} {ruleID} --app {app}', fixtures.trustRule),
  'apps restart': line('{app} --detach', fixtures.liveProcess),
  'apps scale': line('{app} web=2', fixtures.liveProcess),
  'apps resume': line('{app}', appIn('suspended')),
  'apps restore, apps purge': line('{app}', appIn('deleted')),
  'apps sign-icon-upload': line('--app {app} --file {file}', privateApp, file('icon.png', png())),
  'apps templates add': line(
    "--repo {repo} --name 'A page' --ref main --alias {unique} --description 'As it is'",
    delivery.pageRepo,
  ),
  'apps templates remove': line('{template}', fixtures.template),
  'apps detect': line('--repo {repo}', delivery.pageRepo),
  'apps bootstrap': line('--template {template} --slug {unique}', delivery.sharedTemplate),
  'apps bootstrap-status': line('{run}', delivery.bootstrapRun),
  'apps bootstrap-cancel': line('{run}', delivery.waitingRun),
  'apps fork': line('{app} --slug {unique} --template {template}', privateApp, delivery.sharedTemplate),
  'apps co-owners list, apps inspection-consent get': line('--app {sharedApp}'),
  'apps inspection-consent ledger, apps raw-db status, apps storage status': line('--app {sharedApp}'),
  'apps co-owners add, apps members add': line('--app {app} --user {member}', privateApp),
  'apps co-owners remove': line('--app {app} --user {coOwnerID}', privateApp),
  'apps ownership transfer': line('--app {app} --to {member}', privateApp),
  'apps request-access': line('{app}', fixtures.foreignInviteOnlyApp),
  'apps access-requests list': line('--app {app}', fixtures.accessRequest),
  'apps access-requests accept, apps access-requests refuse': line(
    '{request} --app {app}',
    fixtures.accessRequest,
  ),
  'apps members remove': line('--app {app} --user {userID}', fixtures.appWithMember),
  'apps inspection-consent set': line('--app {app} --granted', privateApp),
  'apps inspect': line("{app} --what tables --reason 'a look'", fixtures.appWithConsent),
  'apps domains list': line('--app {app}', fixtures.domain),
  'apps domains add': line('{host} --app {app}', privateApp, host),
  'apps domains remove, apps domains verify': line('{domain} --app {app}', fixtures.domain),
  'apps raw-db enable, apps storage enable': line('--app {app}', privateApp),
  'apps static site staging enable, tables types, tables list, tables export, apps roles list': line(
    '--app {app}',
    privateApp,
  ),
  'apps raw-db rotate, apps raw-db disable': line('--app {app}', fixtures.appWithRawDb),
  'apps storage ls': line('--delimiter / --app {app}', appWithObject),
  'apps storage get-url, apps storage rm': line('a/b.txt --app {app}', appWithObject),
  'apps storage put': line('{file} docs/ --app {app}', appWithObject, file('notes.txt', 'some notes')),
  'apps storage cp': line(':a/b.txt :b/c.txt --app {app}', appWithObject),
  publish: line("--app {app} --visibility public --note 'please look'", releaseIn('active')),
  'review list': line('', fixtures.publicationRequest),
  'review get, review show, review withdraw': line('{request}', fixtures.publicationRequest),
  'review logs': line('{request}', fixtures.reviewedDeployment),
  'review history, apps static site unpublish': line('--app {app}', releaseIn('active')),
  'review approve': line("{request} --note 'looks right'", fixtures.publicationRequest),
  'review reject': line("{request} --reason 'the prices are wrong'", fixtures.publicationRequest),

  'git-host accounts unlink': line('{account}', delivery.gitAccount),
  'git-host installations list, git-host installations repos': line('', delivery.emptyRepository),
  'git-host repos delete': line('{repo}', delivery.emptyRepository),
  'git-host link': approvedCode,
  'git-host complete': line('--state {state}', delivery.pendingConnection),
  'apps git connect': line('--app {app} --repo {repo}', privateApp, delivery.emptyRepository),
  'apps git status, apps git disconnect': line('--app {app}', delivery.connectedApp),
  'apps git update': line('--app {app} --branch release', delivery.connectedApp),
  // Without --detach the command would wait: these deployments stay in the queue.
  deploy: line('--app {app} --from-dir {folder} --detach', supersededDeployment, folder),
  'deployments list, logs, ps': line('--app {app}', supersededDeployment),
  'deployments get, deployments wait, deployments logs': line(
    '{deployment} --app {app}',
    supersededDeployment,
  ),
  'deployments cancel': line('{deployment} --app {app}', fixtures.queuedDeployment),
  'deployments rollback': line('{deployment} --app {app} --detach', supersededDeployment),
  run: line('true --app {app}', delivery.deployedProcess),
  'runs list': line('--app {app}', delivery.openRun),
  'runs get, runs logs, runs cancel': line('{run} --app {app}', delivery.openRun),
  'schedules list': line('--app {app}', delivery.scheduledApp),
  'schedules runs': line('{name} --app {app}', delivery.scheduledApp),
  'schedules run': line('{name} --app {app} --detach', delivery.scheduledApp),
  'previews list': line('--app {app}', delivery.preview),
  'previews show, previews open, previews delete': line('{preview} --app {app}', delivery.preview),
  'previews redeploy': line('{preview} --app {app} --detach', delivery.preview),
  'env list': line('--app {app}', fixtures.appWithVariable),
  'env set': line('GREETING=hello MODE=fast --app {app}', supersededDeployment),
  'env unset': line('GREETING --app {app}', fixtures.appWithVariable),

  'apps static deploy': line('--app {app} --from-dir {folder} --release-version v1', privateApp, folder),
  'apps static auth start': line('--target {url}some/page?of=it --app {app}', activeSite),
  'apps static releases list, apps static site get': line('--app {app}', releaseIn('finalized')),
  'apps static releases get, apps static releases files': line(release, releaseIn('finalized')),
  'apps static releases diff, apps static releases activate, apps static releases revoke': line(
    release,
    releaseIn('finalized'),
  ),
  'apps static releases create': line(`--app {app} --body-json '${releaseBody}'`, privateApp),
  'apps static releases finalize': line(release, releaseIn('draft')),
  'apps static releases stage': line(release, releaseIn('stageable')),
  'apps static releases rollback': line(release, releaseIn('superseded')),
  'apps static releases promote-request': line(`${release} --note 'new prices'`, releaseIn('staged')),
  'apps static releases promote-approve': line(`${release} --note 'looks right'`, fixtures.promotionRequest),
  'apps static releases promote-reject': line(
    `${release} --reason 'the prices are wrong'`,
    fixtures.promotionRequest,
  ),
  'apps static site set': line(
    `--app {app} --body-json '{"spa":true,"redirects":[{"from":"/old/*","to":"/new/:splat"}]}'`,
    privateApp,
  ),
  'apps static site staging disable': line('--app {app}', releaseIn('stageable')),

  'tables get, tables drop, tables indexes list, tables access get': line('{table} --app {app}', table),
  'tables create': line(
    `pets --app {app} --schema {file} --column age:int:nullable
     --owner-column keeper --description 'Who lives here'`,
    privateApp,
    tableFile,
  ),
  'apply, tables apply': line('--app {app} --file {file}', privateApp, schemaFile),
  'tables access set': line('{table} --app {app} --read any --write role:manager', table),
  'apps roles set': line('--app {app} --role manager --user {memberID}', privateApp),
  'apps roles remove': line('--app {app} --role manager --user {userID}', fixtures.appWithRole),
  'tables update': line('{table} --app {app} --description changed', table),
  'tables rename': line('{table} --app {app} --to animals', table),
  'tables columns add': line('{table} --app {app} --column seen_at:timestamptz:2026-01-31T00:00:00Z', table),
  'tables columns rename': line('{table} age --app {app} --to years', table),
  'tables columns update': line('{table} age --app {app} --nullable=false --default 3', table),
  'tables columns drop': line('{table} age --app {app}', table),
  'tables indexes add': line('{table} --app {app} --column age,name', table),
  'tables indexes drop': line('{table} name_key --app {app}', table),
  'tables grants list': line('--app {app} --table {table}', table),
  'tables grants issue': line(
    '--app {app} --table {table} --principal-type user --principal-id {member} --actions read,write',
    table,
  ),
  'tables grants revoke': line('--app {app} --table {table} --grant-id {grantID}', fixtures.tableGrant),
  'rows list, rows count, rows export, rows trash': line('pets --app {app}', row),
  'rows upload': line('{table} {id} photo --app {app} --from-file {file}', fixtures.rowWithFile, photoFile),
  'rows download': line('{table} {id} photo --app {app} --to {file}.copy', fixtures.rowWithFile, photoFile),
  'rows restore': line('pets {id} --app {app}', fixtures.deletedRow),
  'rows watch': line('pets --app {app} --snapshot --limit 1', row),
  'rows aggregate': line('pets --app {app} --select name,n:count()', row),
  'rows get, rows delete, rows history': line('pets {id} --app {app}', row),
  'rows insert': line(`pets --app {app} --data '{"name":"Ada","age":2}'`, row),
  'rows update': line(`pets {id} --app {app} --data '{"age":4}'`, row),
  'rows update-many': line('pets --app {app} --filter age=eq.3 --set age=4', row),
  'rows delete-many': line('pets --app {app} --filter age=eq.3', row),
  'rows batch': line('--app {app} --file {file}', row, operationsFile),
  'rows import': line('pets --app {app} --from-file {file}', row, rowsFile),
};

const inputs: Readonly<Record<string, Input>> = Object.fromEntries(
  Object.entries(sharedInputs).flatMap(([commands, input]) =>
    commands.split(', ').map((words) => [words, input]),
  ),
);

export const knownCommands: readonly string[] = Object.keys(inputs);

export async function commandLine(words: string, world: World): Promise<CommandLine> {
  const input = inputs[words];
  if (input === undefined) throw new Error(`svc ${words} has no inputs in the tests.`);
  const { args, ...rest } = await input(world);
  return { args: [...words.split(' '), ...args], ...rest };
}

/** An empty config folder: the login that other commands use must neither end nor be replaced. */
function withoutLogin() {
  return { SVC_TOKEN: undefined, SVC_CONFIG_DIR: join(temporaryFolder(), 'config') };
}

/** A person who has signed in at the page of the git host and approved a code there. */
async function approvedCode({ tenant: { server, slug, base } }: World): Promise<CommandLine> {
  const person = await withToken(server, await newPasswordUser(server, slug));
  const { verification_uri, user_code, device_code } = await done(
    person.call('POST', `${base}/git-host/link`),
  );
  await answerLogin({ address: verification_uri, code: user_code }, person);
  return { args: ['--device-code', device_code], env: { SVC_TOKEN: person.token } };
}
