import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bystanderInside,
  bystanderOutside,
  newConnector,
  newGrant,
  newPolicy,
  newPreset,
  spareSession,
} from './reach.ts';
import { temporaryFolder } from './server.ts';
import type { World } from './world.ts';

/** A line that succeeds for the tenant's admin, without the words of the command. */
export interface CommandLine {
  args: string[];
  stdin?: string;
  env?: Record<string, string | undefined>;
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
  completion: () => ['bash'],
  schema: () => ['grants', 'create'],
  'exit-codes': none,
  version: none,
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
