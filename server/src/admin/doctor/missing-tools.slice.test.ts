import { expect, test } from 'bun:test';
import { chmodSync, cpSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from '../../drivers/database/testing.ts';
import { explainRefusal } from '../../drivers/runtime/process/isolation.ts';

const server = resolve(import.meta.dir, '../..');
const isRoot = process.getuid?.() === 0;

/** On a machine without these programs and folders: they are hidden from this command alone. */
async function runWithout(programs: readonly string[], command: string[], env: Record<string, string> = {}) {
  const hide = programs
    .map((name) =>
      name.startsWith('/') ? `mount -t tmpfs svc ${name}` : `mount --bind /dev/null "${Bun.which(name)}"`,
    )
    .join(' && ');
  const child = Bun.spawn(
    [
      'unshare',
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      `${hide || ':'} && exec "$@"`,
      'sh',
      ...command,
    ],
    { env: { PATH: process.env.PATH, ...env }, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' },
  );
  return JSON.parse(await new Response(child.stdout).text());
}

/** Where the kernel allows no more user namespaces. */
async function runWithoutUserNamespaces(command: string[], env: Record<string, string>) {
  const inside = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"';
  const child = Bun.spawn(
    [
      'unshare',
      '--user',
      'sh',
      '-c',
      'read _; script=$1; shift; exec unshare --mount sh -c "$script" sh "$@"',
      'sh',
      inside,
      ...command,
    ],
    { env: { PATH: process.env.PATH, ...env }, stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' },
  );
  while (readlinkSync(`/proc/${child.pid}/ns/user`) === readlinkSync('/proc/self/ns/user'))
    await Bun.sleep(5);
  for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${child.pid}/${map}`, '0 0 4294967295');
  child.stdin.write('go\n');
  await child.stdin.end();
  return JSON.parse(await new Response(child.stdout).text());
}

/** Prints what the runtime of apps answers, and what it logs. */
const program = `
import { createProcessRuntime } from '${server}/drivers/runtime/process/process-runtime.ts';
import { readBaseEnvironment } from '${server}/drivers/runtime/process/environment.ts';
import { processSample } from '${server}/drivers/runtime/process/testing.ts';
const { dataDir, use } = JSON.parse(process.env.OPTIONS);
const logged = [];
const log = { info() {}, warn: (fields, text) => logged.push([text, ...Object.values(fields)]), error: (fields, text) => logged.push([text, ...Object.values(fields)]) };
const runtime = await createProcessRuntime({ dataDir, log, controlGroups: 'none', baseEnvironment: readBaseEnvironment(process.env), isolation: { use, egress: 'public', gatewayPort: null } });
const id = () => crypto.randomUUID();
const sample = processSample('web', '');
const job = { ...sample, number: 7, tenantId: id(), appId: id(), deploymentId: id(), env: {}, limits: { cpu: 1, memoryMb: 64, diskMb: 64 }, log() {} };
const message = (act) => act.then(() => 'accepted', (error) => error.message);
const artifact = { buildId: id(), appId: job.appId, dir: '.', startCommand: 'true' };
console.log(JSON.stringify({
  refuses: await runtime.refuses(sample),
  ...(use === 'required' && {
    build: await message(runtime.build({ ...job, buildId: id(), sourceDir: dataDir, signal: new AbortController().signal })),
    start: await message(runtime.start({ ...job, instanceId: id(), artifact })),
    run: await message(runtime.run({ ...job, runId: id(), artifact, command: 'true', timeoutMs: 1000, signal: new AbortController().signal })),
  }),
  logged,
}));
await runtime.close();
`;

test.if(isRoot).each([
  [['pasta'], 'Apps cannot be isolated, because programs are missing: pasta. Install passt.'],
  [
    ['bwrap', 'pasta'],
    'Apps cannot be isolated, because programs are missing: bwrap, pasta. Install bubblewrap passt.',
  ],
])(
  'without %p apps are refused with the reason, and on the own machine of a developer run with a warning',
  async (missing, reason) => {
    const folder = temporaryFolder();
    const answer = (use: string) => {
      const dataDir = join(folder.path, use);
      mkdirSync(dataDir, { mode: 0o711 });
      return runWithout(missing, [process.execPath, '-e', program], {
        OPTIONS: JSON.stringify({ dataDir, use }),
      });
    };
    expect(await answer('required')).toEqual({
      refuses: reason,
      build: reason,
      start: reason,
      run: reason,
      logged: [['apps cannot run', reason]],
    });
    expect(await answer('preferred')).toEqual({
      refuses: null,
      logged: [['apps run without isolation from this machine and from each other', reason]],
    });
    await folder.remove();
  },
);

test.if(isRoot)('where the machine forbids the sandbox, apps are refused with how to allow it', async () => {
  const folder = temporaryFolder();
  const { path: dataDir } = folder;
  chmodSync(dataDir, 0o711);
  const env = { OPTIONS: JSON.stringify({ dataDir, use: 'required' }) };
  const command = [process.execPath, '-e', program];
  const refusals = {
    'user.max_user_namespaces=10000': await runWithoutUserNamespaces(command, env),
    'modprobe tun': await runWithout(['/dev/net'], command, env),
    'ip route add default': await runWithout([], ['unshare', '--net', ...command], env),
  };
  for (const [remedy, { refuses }] of Object.entries(refusals))
    expect(refuses).toMatch(new RegExp(`^Apps cannot be isolated on this machine: .*${remedy}.*[.]$`));
  const settings: Record<string, string> = {
    'user.max_user_namespaces': '96365',
    'kernel.apparmor_restrict_unprivileged_userns': '1',
  };
  const explain = () => explainRefusal('Permission denied', (name) => settings[name] ?? null);
  expect(explain()).toContain('sysctl -w kernel.apparmor_restrict_unprivileged_userns=0');
  settings['kernel.unprivileged_userns_clone'] = '0';
  expect(explain()).toContain('sysctl -w kernel.unprivileged_userns_clone=1');
  expect(explainRefusal('Permission denied', () => null)).toBeNull();
  await folder.remove();
});

test.if(isRoot)(
  'svc-admin doctor names missing programs, and says when the server runs as root',
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    mkdirSync(dataDir, { mode: 0o711 });
    const doctor = async (missing: string[], env: Record<string, string> = {}) => {
      const { checks } = await runWithout(
        missing,
        [process.execPath, join(server, 'admin.ts'), 'doctor', '--json'],
        {
          SVC_DATA_DIR: dataDir,
          SVC_PORT: '1',
          SVC_BASE_URL: 'https://svc.example.org',
          ...env,
        },
      );
      return (name: string) => checks.find((check: { name: string }) => check.name === name);
    };
    const sound = await doctor([]);
    expect(sound('runtime')).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^Each app runs in its own sandbox;.*disk space measured every second\./),
    });
    expect(sound('git sandbox')).toMatchObject({ status: 'ok' });
    expect(sound('server user')).toMatchObject({
      status: 'ok',
      detail: 'Started by root, the server runs as a user without rights.',
    });

    chmodSync(folder.path, 0o700);
    const broken = await doctor(['bwrap']);
    expect(broken('runtime')).toMatchObject({
      status: 'problem',
      detail: 'Apps cannot be isolated, because programs are missing: bwrap. Install bubblewrap.',
    });
    expect(broken('git sandbox')).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('Install bubblewrap.'),
    });
    expect(broken('server user')).toMatchObject({ status: 'ok' });
    expect((await doctor(['unshare']))('server user')).toMatchObject({
      status: 'warning',
      detail: expect.stringMatching(
        /^Started by root, the server runs as root, because another user cannot enter .*\. No mount namespace can be set up/,
      ),
      hint: expect.stringContaining(`chmod o+x ${folder.path}`),
    });
    const tools = join(folder.path, 'node', 'bin');
    mkdirSync(tools, { recursive: true });
    cpSync(Bun.which('node') ?? '', join(tools, 'node'), { dereference: true });
    const none = 'No node that apps can run was found';
    expect((await doctor(['node']))('runtime').detail).toContain(none);
    const own = await doctor(['node'], { PATH: `${tools}:${process.env.PATH}` });
    expect(own('runtime').detail).not.toContain(none);
    const open = await doctor(['bwrap'], { SVC_RUNTIME_ISOLATION: 'none' });
    expect(open('runtime')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining('chmod o+x'),
    });
    chmodSync(folder.path, 0o711);
    const unsafe = await doctor(['bwrap'], { SVC_RUNTIME_ISOLATION: 'none' });
    const isolated = 'Apps run without isolation';
    expect(unsafe('runtime')).toMatchObject({ status: 'problem', detail: expect.stringContaining(isolated) });
    const local = await doctor(['bwrap', '/sys/fs/cgroup'], {
      SVC_RUNTIME_ISOLATION: 'none',
      SVC_BASE_URL: 'http://localhost:1',
      SVC_CGROUP: 'own',
    });
    expect(local('runtime')).toMatchObject({
      status: 'warning',
      detail: expect.stringMatching(new RegExp(`${isolated}.* the server owns no control group`)),
    });
    await folder.remove();
  },
);
