import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { run } from './support/commands.ts';
import { folderOf, root, sharedServer } from './support/server.ts';
import { askSite, newSite } from './support/sites.ts';

const program = `
import { createClient, SvcError, type Client } from '@svc/sdk';
import { userOf } from '@svc/sdk/server';
interface Database {
  todos: { Row: { id: string; title: string }; Insert: { title: string }; Update: { title?: string } };
}
const client: Client<Database> = createClient<Database>({
  baseUrl: 'http://127.0.0.1:1',
  tenant: 'acme',
  app: 'todo',
  auth: { apiKey: 'x' },
});
export async function titles(): Promise<string[]> {
  const { data } = await client.table('todos').eq('title', 'x').list();
  await client.storage.put('a.txt', 'text', { contentType: 'text/plain' });
  return data.map(({ title }) => title);
}
// @ts-expect-error The table has no such column.
client.table('todos').eq('titel', 'x');
// @ts-expect-error There is no such table.
client.table('todo');
export const user = (request: Request) => userOf(request);
export const isKnown = (error: unknown) => error instanceof SvcError && error.code === 'not_found';
`;

test('the SDK is installed from the server with npm, has types and no dependencies, and runs in Node.js', async () => {
  const { baseUrl } = await sharedServer();
  const folder = folderOf({
    'package.json': JSON.stringify({ name: 'app', private: true, type: 'module' }),
    'program.ts': program,
    'run.mjs': `import { createClient } from '@svc/sdk';
try { createClient(); } catch (error) { console.log(error.message); }
const client = createClient({ baseUrl: '${baseUrl}', tenant: 'a', app: 'b', auth: { apiKey: 'x' } });
await client.table('c').list().catch((error) => console.log(error.code));`,
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        target: 'ES2022',
        module: 'NodeNext',
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        types: [],
        lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      },
      files: ['program.ts'],
    }),
  });
  const npm = [
    'npm',
    'install',
    `${baseUrl}/sdk.tgz`,
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--loglevel=error',
  ];
  const installed = await run(npm, { cwd: folder, env: { HOME: folder } });
  expect([installed.code, installed.stderr]).toEqual([0, '']);
  const at = (path: string) => readFileSync(join(folder, 'node_modules', '@svc', 'sdk', path), 'utf8');
  const { name, version, dependencies } = JSON.parse(at('package.json'));
  expect({ name, version, dependencies }).toEqual({
    name: '@svc/sdk',
    version: packageJson.version,
    dependencies: undefined,
  });
  const types = await run([join(root, 'node_modules', '.bin', 'tsc'), '-p', '.'], { cwd: folder });
  expect([types.code, types.stdout]).toEqual([0, '']);
  const ran = await run(['node', 'run.mjs'], { cwd: folder });
  expect(ran.stdout).toBe(
    'createClient needs baseUrl: only on a server of the platform does it come from the environment.\nunauthenticated\n',
  );
});

test('every app has the SDK at its own host, as a module for browsers', async () => {
  const site = await newSite();
  const answer = await askSite(site, '/.svc/sdk.js');
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
  const module = await import(join(folderOf({ 'sdk.mjs': answer.text }), 'sdk.mjs'));
  expect(Object.keys(module)).toEqual(expect.arrayContaining(['createClient', 'createSignIn', 'SvcError']));
});
