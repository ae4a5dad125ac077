import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { BuildError, type BuildPlan, type Built, type DeployMethod, type Runtime } from './runtime.ts';
import { type Bench, openBench, serverSecret } from './testing.ts';

export const sampleNames = [
  /** `GET /env`: its variables, one per line; `GET /burn`: uses CPU for a while. On SIGTERM it logs `bye` and exits. */
  'web',
  'exits',
  'stubborn',
  'hungry',
  /** `line 1` to `line 200`; 20,000 times `x` in one line; `bad`, the byte 0xff, `end`; `to the side` on stderr; then `half` without an end. */
  'chatty',
  'failing',
  /** Its build logs `hanging` and sleeps, as does a detached process; both have the given text in their arguments. */
  'hanging',
  'site',
] as const;
export type SampleName = (typeof sampleNames)[number];

export interface Sample {
  method: DeployMethod;
  plan: BuildPlan;
  files: Readonly<Record<string, string>>;
}

export interface RuntimeWorld {
  open(): Promise<Runtime>;
  workDir: string;
  sample(name: SampleName, text: string): Sample;
  whenClosed: 'ended' | 'kept';
  givesUp: 'soon' | 'late';
  /** A registry has them, from which the platform deletes nothing. */
  keepsImages?: boolean;
  close(): Promise<void>;
}

/**
 * Its tests run beside each other, because they wait for other programs. `only`: where builds and commands are those of
 * another world, which tests them.
 */
export function runtimeConformance(
  name: string,
  makeWorld: () => Promise<RuntimeWorld>,
  { only }: { only?: 'instances' } = {},
): void {
  describe(name, () => {
    let world: RuntimeWorld;
    let bench: Bench;
    beforeAll(async () => {
      world = await makeWorld();
      bench = openBench(world, await world.open());
    });
    afterAll(async () => {
      await bench?.runtime.close();
      await world?.close();
    });

    const builds = () => {
      test('can be started repeatedly', async () => {
        const app = bench.app('web');
        const built = await app.build();
        expect([built.filesDir, built.digest]).toEqual([
          null,
          expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        ]);
        const one = await app.start(built);
        const two = await app.start(built);
        expect(one.address).not.toBe(two.address);
        for (const { address } of [one, two]) expect(await bench.answer(address, '/env')).toContain('PORT=');
        await one.stop();
        await two.stop();
      });

      test('survives serialization as JSON', async () => {
        const app = bench.app('web');
        const built = await app.build();
        const read = JSON.parse(JSON.stringify(built.artifact)) as Built['artifact'];
        const instance = await app.start({ ...built, artifact: read });
        expect(await bench.answer(instance.address, '/env')).toContain('PORT=');
        await instance.stop();
      });

      test('has a digest of its content', async () => {
        const same = await Promise.all([bench.app('site').build(), bench.app('site').build()]);
        expect(same[0].digest).toBe(same[1].digest);
        const other = bench.app('site');
        other.sample.files['more.txt'] = 'more';
        other.sample.plan.buildCommand = `${other.sample.plan.buildCommand} && cp more.txt out/more.txt`;
        expect((await other.build()).digest).not.toBe(same[0].digest);
      });

      test('of a static site leaves its files in the source folder', async () => {
        const app = bench.app('site');
        const { filesDir, artifact } = await app.build();
        expect(artifact).toEqual({});
        expect(filesDir?.startsWith(app.sourceDir)).toBe(true);
        expect(readFileSync(join(filesDir ?? '', 'index.html'), 'utf8')).toBe('<h1>site</h1>\n');
      });

      test('that fails reports the command, its exit code and its output', async () => {
        const app = bench.app('failing');
        const error = await app.build().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(BuildError);
        expect(error).toMatchObject({ step: 'build', message: expect.stringContaining('3') });
        expect(app.lines()).toContain('about to fail');
      });

      test('gets its variables, but none of the server', async () => {
        const app = bench.app('site', { OF_THE_APP: "it's $HOME `here`\nand there" });
        app.sample.plan.buildCommand = `${app.sample.plan.buildCommand} && env > out/env.txt`;
        const { filesDir } = await app.build();
        const text = readFileSync(join(filesDir ?? '', 'env.txt'), 'utf8');
        expect(text).toContain("OF_THE_APP=it's $HOME `here`\nand there\n");
        expect(text).not.toMatch(/NODE_ENV=/);
        expect(text).not.toContain(serverSecret);
      });

      test('that is aborted ends with all its processes', async () => {
        const text = `77${Math.floor(Math.random() * 1e6)}`;
        const app = bench.app('hanging', {}, text);
        const building = app.build().catch((thrown: unknown) => thrown);
        await bench.until(() => app.lines().includes('hanging'));
        await bench.until(() => processesWith(text) >= 2);
        app.abort(new Error('not wanted'));
        expect(String(await building)).toContain('not wanted');
        expect(processesWith(text)).toBe(0);
      });

      test('that is already aborted does not start', async () => {
        const app = bench.app('site');
        app.abort(new Error('not wanted'));
        expect(String(await app.build().catch((thrown: unknown) => thrown))).toContain('not wanted');
        expect(app.lines()).toEqual([]);
      });

      test('that was discarded cannot be started; discarding is idempotent', async () => {
        const app = bench.app('web');
        const built = await app.build();
        await bench.runtime.discard(built.artifact);
        await bench.runtime.discard(built.artifact);
        if (!world.keepsImages) expect(await app.start(built).catch(() => 'refused')).toBe('refused');
        await bench.runtime.discard({});
      });
    };
    if (only !== 'instances') describe.concurrent('a build', builds);

    describe.concurrent('an instance', () => {
      test('gets its variables and port, but no variables of the server', async () => {
        const app = bench.app('web', { OF_THE_APP: 'a "quoted" $value' });
        const instance = await app.run();
        const text = await bench.answer(instance.address, '/env');
        expect(text).toContain('OF_THE_APP=a "quoted" $value\n');
        expect(text).toMatch(/^PORT=\d+$/m);
        expect(text).toMatch(/^HOST=/m);
        expect(text).not.toContain(serverSecret);
        await instance.stop();
      });

      test('runs another command of the build beside the app, without a port', async () => {
        const app = bench.app('web');
        const built = await app.build();
        const beside = await app.start(built, crypto.randomUUID(), 'node -e "console.log(6 * 7)"; sleep 100');
        await bench.until(() => app.lines().includes('42'));
        // Its node tells a Swarm later that it runs than it sends the log.
        await bench.until(async () => (await beside.getState()).state === 'running');
        expect(await beside.getState()).toMatchObject({ state: 'running', restarts: 0 });
        expect(await bench.isSilent(beside.address)).toBe(true);
        const web = await app.start(built);
        expect(await bench.answer(web.address, '/env')).toContain('PORT=');
        await web.stop();
        expect(await beside.getState()).toMatchObject({ state: 'running', restarts: 0 });
        await beside.stop();
        expect(await beside.getState()).toEqual({ state: 'gone' });
      });

      test('that is started twice with one ID runs once', async () => {
        const app = bench.app('web');
        const built = await app.build();
        const id = crypto.randomUUID();
        const [one, two] = await Promise.all([app.start(built, id), app.start(built, id)]);
        const three = await app.start(built, id);
        expect([two.address, three.address]).toEqual([one.address, one.address]);
        const all = (await bench.runtime.list()).filter(({ appId }) => appId === app.appId);
        expect(all).toMatchObject([{ instanceId: id, deploymentId: app.deploymentId, address: one.address }]);
        await one.stop();
        expect((await bench.runtime.list()).filter(({ appId }) => appId === app.appId)).toEqual([]);
      });

      test.serial('gets SIGTERM, ends gracefully and is gone', async () => {
        const app = bench.app('web');
        const instance = await app.run();
        expect(await instance.getState()).toMatchObject({ state: 'running', restarts: 0 });
        const began = performance.now();
        await instance.stop(20_000);
        expect(performance.now() - began).toBeLessThan(15_000);
        expect(app.lines()).toContain('bye');
        expect(await instance.getState()).toEqual({ state: 'gone' });
        expect(await bench.isSilent(instance.address)).toBe(true);
        await instance.stop();
      });

      test('that ignores SIGTERM is killed after the grace period', async () => {
        const instance = await bench.app('stubborn').run();
        const began = performance.now();
        await instance.stop(1_000);
        expect(performance.now() - began).toBeGreaterThan(900);
        expect(await instance.getState()).toEqual({ state: 'gone' });
        expect(await bench.isSilent(instance.address)).toBe(true);
      });

      test('that was never started is gone, has no usage and can be stopped', async () => {
        const none = { instanceId: crypto.randomUUID(), handle: {} };
        expect(await bench.runtime.getState(none)).toEqual({ state: 'gone' });
        expect(await bench.runtime.usage(none)).toBeNull();
        await bench.runtime.stop(none, { graceMs: 10 });
      });

      test('that exits is restarted, and can be stopped while it waits', async () => {
        const app = bench.app('exits');
        const built = await app.build();
        const instance = await app.start(built);
        const restarts = async () => {
          const found = await instance.getState();
          return found.state === 'gone' ? -1 : found.restarts;
        };
        await bench.until(async () => (await restarts()) >= 2);
        await bench.until(async () => app.lines().filter((line) => line === 'going').length >= 2);
        await bench.until(async () => (await instance.getState()).state === 'restarting');
        await instance.stop();
        expect(await instance.getState()).toEqual({ state: 'gone' });
      });

      test('that keeps exiting is given up', async () => {
        if (world.givesUp === 'late') return;
        const app = bench.app('exits');
        const instance = await app.start(await app.build());
        await bench.until(async () => (await instance.getState()).state === 'failed');
        expect(await instance.getState()).toMatchObject({ detail: expect.stringContaining('7') });
        await instance.stop();
      });

      test('that exceeds its memory is killed, and the log says so', async () => {
        const app = bench.app('hungry');
        const instance = await app.start(await app.build());
        await bench.until(() => app.lines().some((line) => line.includes('out of memory')));
        await instance.stop();
      });

      test('has growing CPU usage', async () => {
        const instance = await bench.app('web').run();
        const before = await instance.usage();
        expect(before?.memoryBytes).toBeGreaterThan(100_000);
        await bench.answer(instance.address, '/burn');
        const after = await instance.usage();
        expect((after?.cpuMs ?? 0) - (before?.cpuMs ?? 0)).toBeGreaterThan(50);
        await instance.stop();
      });

      test('has a complete log: all lines, long lines split, invalid bytes, and an incomplete last line', async () => {
        const app = bench.app('chatty');
        const instance = await app.start(await app.build());
        await bench.until(() => app.lines('stderr').includes('to the side'));
        await bench.until(() => app.lines('stdout').includes('bad\ufffdend'));
        await instance.stop();
        const lines = app.lines('stdout');
        const from = lines.indexOf('line 1');
        const expected = Array.from({ length: 200 }, (_, at) => `line ${at + 1}`);
        expect(lines.slice(from, from + 200)).toEqual(expected);
        const long = lines.filter((line) => line.startsWith('x'));
        expect(long.join('')).toBe('x'.repeat(20_000));
        expect(Math.max(...long.map((line) => line.length))).toBeLessThanOrEqual(logLineBytesMax);
        expect(lines).toContain('half');
      });
    });

    const commands = () => {
      test('runs in the build with its variables, and returns its exit code; both streams are kept apart', async () => {
        const app = bench.app('web', { OF_THE_APP: "it's $HOME" });
        const built = await app.build();
        const script = 'echo "$OF_THE_APP"; ls app.js; echo aside >&2; exit 3';
        expect(await app.command(built, script)).toEqual({
          exitCode: 3,
          how: expect.stringContaining('exit code 3'),
        });
        expect(app.lines('stdout')).toEqual(["it's $HOME", 'app.js']);
        expect(app.lines('stderr')).toEqual(['aside']);
        expect(await app.command(built, 'env')).toMatchObject({ exitCode: 0 });
        expect(app.lines().join('\n')).not.toContain(serverSecret);
      });

      test('writes into a copy of the build, which is gone with it, and is no instance', async () => {
        const app = bench.app('web');
        const built = await app.build();
        const running = app.command(built, 'echo changed >app.js && cat app.js && sleep 1');
        await bench.until(() => app.lines().includes('changed'));
        expect((await bench.runtime.list()).filter(({ appId }) => appId === app.appId)).toEqual([]);
        expect(await running).toMatchObject({ exitCode: 0 });
        await app.command(built, 'grep -c changed app.js');
        expect(app.lines('stdout').at(-1)).toBe('0');
      });

      test('that takes too long, or too much memory, is ended', async () => {
        const text = `78${Math.floor(Math.random() * 1e6)}`;
        const app = bench.app('web');
        const built = await app.build();
        expect(await app.command(built, `sleep ${text}`, { timeoutMs: 1_500 })).toEqual({
          exitCode: null,
          how: expect.stringContaining('1.5 seconds'),
        });
        const hungry = 'node -e "const all = []; setInterval(() => all.push(Buffer.alloc(8e6, 1)), 20)"';
        expect(await app.command(built, hungry)).toEqual({
          exitCode: null,
          how: expect.stringContaining('out of memory'),
        });
        expect(processesWith(text)).toBe(0);
      });

      test('can be stopped by its ID, as after the loss of the server that ran it', async () => {
        const text = `76${Math.floor(Math.random() * 1e6)}`;
        const app = bench.app('web');
        const built = await app.build();
        const runId = crypto.randomUUID();
        const running = app.command(built, `echo hanging; sleep ${text}`, { runId }).catch(() => null);
        await bench.until(() => app.lines().includes('hanging'));
        await bench.runtime.stop({ instanceId: runId, handle: {} }, { graceMs: 0 });
        expect(processesWith(text)).toBe(0);
        expect((await running)?.exitCode).not.toBe(0);
      });

      test('that is aborted gets SIGTERM and ends with all its processes', async () => {
        const text = `79${Math.floor(Math.random() * 1e6)}`;
        const app = bench.app('web');
        const built = await app.build();
        const script = `trap 'echo bye; exit 0' TERM; echo hanging; sleep ${text} & wait`;
        const running = app.command(built, script).catch((thrown: unknown) => thrown);
        await bench.until(() => app.lines().includes('hanging'));
        app.abort(new Error('not wanted'));
        expect(String(await running)).toContain('not wanted');
        expect(app.lines()).toContain('bye');
        expect(processesWith(text)).toBe(0);
      });
    };
    if (only !== 'instances') describe.concurrent('a command', commands);

    test('check succeeds', async () => {
      expect(await bench.runtime.check()).toMatchObject({ ok: true, detail: expect.stringMatching(/./) });
    });

    test('knows the running instances after a restart', async () => {
      const app = bench.app('web');
      const instance = await app.run();
      const nodeBefore = bench.runtime.node;
      await bench.runtime.close();
      bench.runtime = await world.open();
      expect(bench.runtime.node).toBe(nodeBefore);
      const found = (await bench.runtime.list()).filter(({ appId }) => appId === app.appId);
      if (world.whenClosed === 'kept') {
        expect(found).toMatchObject([{ instanceId: instance.id, address: instance.address }]);
        expect(await instance.getState()).toMatchObject({ state: 'running' });
        await instance.stop();
      } else {
        expect([found, await instance.getState()]).toEqual([[], { state: 'gone' }]);
      }
      expect(await bench.isSilent(instance.address)).toBe(true);
    });
  });
}

function processesWith(text: string): number {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      const path = `/proc/${name}/cmdline`;
      try {
        return existsSync(path) && readFileSync(path, 'utf8').includes(text);
      } catch {
        return false;
      }
    }).length;
}
