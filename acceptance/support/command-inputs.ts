import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appLifeInputs } from './command-inputs/app-life.ts';
import { appMetricsInputs } from './command-inputs/app-metrics.ts';
import { appInputs } from './command-inputs/apps.ts';
import { categoryInputs } from './command-inputs/categories.ts';
import { deploymentInputs } from './command-inputs/deployments.ts';
import { domainInputs } from './command-inputs/domains.ts';
import { gitInputs } from './command-inputs/git.ts';
import { iconInputs } from './command-inputs/icons.ts';
import { notificationInputs } from './command-inputs/notifications.ts';
import { ownerInputs } from './command-inputs/owners.ts';
import { publicationInputs } from './command-inputs/publications.ts';
import { rawDbInputs } from './command-inputs/raw-db.ts';
import { staticSiteInputs } from './command-inputs/static-sites.ts';
import { storageInputs } from './command-inputs/storage.ts';
import { tenantInputs } from './command-inputs/tenants.ts';
import {
  adminsApp,
  bystanderInside,
  bystanderOutside,
  newConnector,
  newGrant,
  newPolicy,
  newPreset,
  newTable,
  spareSession,
  tableGrant,
  tablesOf,
} from './reach.ts';
import { temporaryFolder } from './server.ts';
import type { World } from './world.ts';

/** A line that succeeds for the tenant's admin, without the words of the command. */
export interface CommandLine {
  args: string[];
  stdin?: string;
  env?: Record<string, string | undefined>;
  cwd?: string;
}

type Inputs = (world: World) => Promise<string[] | CommandLine> | string[] | CommandLine;

const unique = (word: string) => `${word}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
const none: Inputs = () => [];

/** By the words typed. Each call makes what it needs anew. */
const inputs: Readonly<Record<string, Inputs>> = {
  login: (world) => ({
    args: ['--token-stdin'],
    stdin: `${world.people.A.token}\n`,
    env: nobodyYet(),
  }),
  logout: () => ({ args: [], env: nobodyYet() }),
  whoami: none,
  'tenants list': none,
  'tenants get': none,
  'tenants use': (world) => [world.tenant.slug],
  'members list': none,
  'members set': async (world) => [await bystanderOutside(world), '--role', 'tenant_member'],
  'members remove': async (world) => [await bystanderInside(world)],
  'sessions list': none,
  'sessions revoke': async (world) => [await spareSession(world, 'A')],
  'pats list': none,
  'pats create': () => ['--name', unique('token'), '--actions', 'read,write', '--expires-in-days', '7'],
  'pats revoke': async (world) => {
    const pat = await world.as.A('POST', `${world.tenant.base}/pats`, { name: unique('token') });
    return [pat.body.id];
  },
  'apps openapi': async (world) => [(await adminsTable(world)).app[1]!],
  'apps co-owners list': (world) => ['--app', world.app.slug],
  'apps co-owners add': async (world) => ['--app', await adminsApp(world), '--user', world.people.M.email],
  'apps co-owners remove': async (world) => ['--app', await adminsApp(world), '--user', world.people.C.id],
  ...appInputs,
  ...appLifeInputs,
  ...categoryInputs,
  ...notificationInputs,
  ...ownerInputs,
  ...publicationInputs,
  ...rawDbInputs,
  ...storageInputs,
  ...domainInputs,
  ...deploymentInputs,
  ...gitInputs,
  ...staticSiteInputs,
  ...iconInputs,
  'tables types': async (world) => ['--app', await adminsApp(world)],
  'tables list': async (world) => (await adminsTable(world)).app,
  'tables get': async (world) => (await adminsTable(world)).line,
  'tables create': async (world) => [
    ...['pets', '--app', await adminsApp(world), '--schema', tableFile(), '--column', 'age:int:nullable'],
    ...['--owner-column', 'keeper', '--description', 'Who lives here'],
  ],
  'tables update': async (world) => [...(await adminsTable(world)).line, '--description', 'changed'],
  'tables rename': async (world) => [...(await adminsTable(world)).line, '--to', 'animals'],
  'tables drop': async (world) => (await adminsTable(world)).line,
  'tables columns add': async (world) => [
    ...[...(await adminsTable(world)).line, '--column', 'seen_at:timestamptz:2026-01-31T00:00:00Z'],
  ],
  'tables columns rename': async (world) => {
    const { table, app } = await adminsTable(world);
    return [table, 'age', ...app, '--to', 'years'];
  },
  'tables columns update': async (world) => {
    const { table, app } = await adminsTable(world);
    return [table, 'age', ...app, '--nullable=false', '--default', '3'];
  },
  'tables columns drop': async (world) => {
    const { table, app } = await adminsTable(world);
    return [table, 'age', ...app];
  },
  'tables indexes list': async (world) => (await adminsTable(world)).line,
  'tables indexes add': async (world) => [...(await adminsTable(world)).line, '--column', 'age,name'],
  'tables indexes drop': async (world) => {
    const { table, app } = await adminsTable(world);
    return [table, 'name_key', ...app];
  },
  'tables grants list': async (world) => (await adminsTable(world)).flags,
  'tables grants issue': async (world) => [
    ...[...(await adminsTable(world)).flags, '--principal-type', 'user'],
    ...['--principal-id', world.people.M.email, '--actions', 'read,write'],
  ],
  'tables grants revoke': async (world) => {
    const { flags, path } = await adminsTable(world);
    const grant = await world.as.A('POST', `${path}/grants`, tableGrant);
    return [...flags, '--grant-id', grant.body.id];
  },
  'rows list': async (world) => (await adminsRows(world)).line,
  'rows get': async (world) => {
    const { table, id, app } = await adminsRows(world);
    return [table, id, ...app];
  },
  'rows insert': async (world) => [...(await adminsRows(world)).line, '--data', '{"name":"Ada","age":2}'],
  'rows update': async (world) => {
    const { table, id, app } = await adminsRows(world);
    return [table, id, ...app, '--data', '{"age":4}'];
  },
  'rows delete': async (world) => {
    const { table, id, app } = await adminsRows(world);
    return [table, id, ...app];
  },
  'rows count': async (world) => (await adminsRows(world)).line,
  'rows import': async (world) => [...(await adminsRows(world)).line, '--from-file', rowsFile()],
  'rows export': async (world) => (await adminsRows(world)).line,
  'connectors list': none,
  'connectors get': async (world) => [await newConnector(world)],
  'connectors create': () => ['--name', unique('connector'), '--kind', 'postgres'],
  'connectors update': async (world) => [await newConnector(world), '--description', 'changed'],
  'connectors delete': async (world) => [await newConnector(world)],
  'presets list': none,
  'presets get': async (world) => [await newPreset(world)],
  'presets create': () => ['--name', unique('preset'), '--actions', 'read,export'],
  'presets update': async (world) => [await newPreset(world), '--actions', 'read,export'],
  'presets delete': async (world) => [await newPreset(world)],
  'grants mine': none,
  'grants list': none,
  'grants get': async (world) => [await newGrant(world)],
  'grants create': async (world) => [
    ...['--subject', world.people.M.email, '--connector', await newConnector(world), '--preset', 'reader'],
    ...['--scope', 'sales,hr/people', '--policy', await newPolicy(world), '--reason', 'asked for it'],
  ],
  'grants revoke': async (world) => [await newGrant(world), '--reason', 'over'],
  'grants scope set': async (world) => [await newGrant(world), 'sales', 'hr/people'],
  'access check': async (world) => [
    ...['--subject', world.people.M.id, '--connector', await newConnector(world), '--action', 'read'],
  ],
  'policies list': none,
  'policies get': async (world) => [await newPolicy(world)],
  'policies create': () => ['--from-file', policyFile(), '--name', unique('policy')],
  'policies update': async (world) => [await newPolicy(world), '--enabled=false'],
  'policies delete': async (world) => [await newPolicy(world)],
  'audit list': none,
  init: () => ({ args: ['Web shop', '--slug', 'web-shop'], cwd: temporaryFolder() }),
  completion: () => ['bash'],
  schema: () => ['grants', 'create'],
  'exit-codes': none,
  version: none,
  ...appMetricsInputs,
  ...tenantInputs,
};

/** A folder of its own: a login that others use must not be ended, nor another take its place. */
function nobodyYet() {
  return { SVC_TOKEN: undefined, SVC_CONFIG_DIR: join(temporaryFolder(), 'config') };
}

export const knownCommands: readonly string[] = Object.keys(inputs);

export async function commandLine(words: string, world: World): Promise<CommandLine> {
  const made = inputs[words];
  if (made === undefined) throw new Error(`svc ${words} has no inputs in the tests.`);
  const line = await made(world);
  const { args, ...rest } = Array.isArray(line) ? { args: line } : line;
  return { args: [...words.split(' '), ...args], ...rest };
}

/** As the admin's commands name it: by position, or by flags. */
async function adminsTable(world: World) {
  const { app: appId, table } = await newTable(world, world.people.A);
  const app = ['--app', appId];
  const path = `${tablesOf(world, appId)}/${table}`;
  return { table, app, line: [table, ...app], flags: [...app, '--table', table], path };
}

/** A table with one row. */
async function adminsRows(world: World) {
  const { app, table: tableId } = await adminsTable(world);
  const shape = await world.as.A('GET', `${tablesOf(world, app[1]!)}/${tableId}`);
  const table: string = shape.body.name;
  const path = `/data/${world.tenant.id}/${app[1]}/${table}`;
  const made = await world.as.A('POST', path, { name: 'Rex', age: 3 });
  if (made.status !== 201) throw new Error(`A row could not be made: ${JSON.stringify(made.body)}`);
  return { table, app, id: made.body.id as string, line: [table, ...app] };
}

function rowsFile(): string {
  const path = join(temporaryFolder(), 'rows.jsonl');
  writeFileSync(path, '{"name":"Ada","age":2}\n{"name":"Bo","age":null}\n');
  return path;
}

function tableFile(): string {
  const path = join(temporaryFolder(), 'table.yaml');
  writeFileSync(path, 'columns:\n  - name:text\n  - { name: keeper, type: uuid, nullable: true }\n');
  return path;
}

function policyFile(): string {
  const path = join(temporaryFolder(), 'policy.yaml');
  const lines = [
    'row_filter: region=eq.eu',
    'columns: { mode: deny, names: [salary] }',
    'masks: [{ column: email, kind: partial, args: { keep: 2 } }]',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}
