import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { BuildFailure, type BuildPlan, type Built, type DeployMethod, type Runtime } from './runtime.ts';
import { type Bench, openBench, serverSecret } from './testing.ts';

/** Tiny apps that every runtime has to cope with, made of what the runtime has at hand. */
export const sampleNames = [
  /** `GET /env`: its variables, a line each; `GET /burn`: uses CPU for a while. SIGTERM: says `bye` and ends. */
  'web',
  /** Says `going` and ends with exit code 7. */
  'exits',
  /** Answers, and ignores SIGTERM. */
  'stubborn',
  /** Takes memory without end. */
  'hungry',
  /** `line 1` to `line 200`; 20,000 times `x` in one line; `bad`, the byte 0xff, `end`; `to the side` on stderr; then `half` without an end. */
  'chatty',
  /** Its build says `about to fail` and ends with exit code 3. */
  'failing',
  /** Its build says `hanging` and waits, with a process apart from it; both have the given text in their arguments. */
  'hanging',
  /** Its build makes `out/index.html` with `<h1>site</h1>`; deploy method `static`. */
  'site',
] as const;
export type SampleName = (typeof sampleNames)[number];

export interface Sample {
  method: DeployMethod;
  plan: BuildPlan;
  /** By path below the source. */
  files: Readonly<Record<string, string>>;
}

export interface RuntimeWorld {
  /** Again on the same place when it is called again. */
  open(): Promise<Runtime>;
  /** Where sources are put. */
  workDir: string;
  sample(name: SampleName, text: string): Sample;
  /** What becomes of instances when the driver is closed. */
  whenClosed: 'ended' | 'kept';
  /** Whether it gives up on an app that ends again and again soon enough to be waited for. */
  givesUp: 'soon' | 'late';
  close(): Promise<void>;
}

/** What every runtime keeps, whatever it runs apps by. */
export function runtimeConformance(name: string, makeWorld: () => Promise<RuntimeWorld>): void {
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

    describe('a build', () => {
      test('can be started, again and again', async () => {
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

      test('survives being written down as JSON', async () => {
        const app = bench.app('web');
        const built = await app.build();
        const read = JSON.parse(JSON.stringify(built.artifact)) as Built['artifact'];
        const instance = await app.start({ ...built, artifact: read });
        expect(await bench.answer(instance.address, '/env')).toContain('PORT=');
        await instance.stop();
      });

      test('has the same digest for the same bytes, and another for others', async () => {
        const same = await Promise.all([bench.app('site').build(), bench.app('site').build()]);
        expect(same[0].digest).toBe(same[1].digest);
        const other = bench.app('site');
        other.sample.files['more.txt'] = 'more';
        other.sample.plan.buildCommand = `${other.sample.plan.buildCommand} && cp more.txt out/more.txt`;
        expect((await other.build()).digest).not.toBe(same[0].digest);
      });

      test('of a static site leaves its files with the source', async () => {
        const app = bench.app('site');
        const { filesDir, artifact } = await app.build();
        expect(artifact).toEqual({});
        expect(filesDir?.startsWith(app.sourceDir)).toBe(true);
        expect(readFileSync(join(filesDir ?? '', 'index.html'), 'utf8')).toBe('<h1>site</h1>\n');
      });

      test('that fails tells the command and its exit code, and what it said', async () => {
        const app = bench.app('failing');
        const error = await app.build().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(BuildFailure);
        expect(error).toMatchObject({ step: 'build', message: expect.stringContaining('3') });
        expect(app.lines()).toContain('about to fail');
      });

      test('gets its variables, and none of the server', async () => {
        const app = bench.app('site', { OF_THE_APP: "it's $HOME `here`\nand there" });
        app.sample.plan.buildCommand = `${app.sample.plan.buildCommand} && env > out/env.txt`;
        const { filesDir } = await app.build();
        const text = readFileSync(join(filesDir ?? '', 'env.txt'), 'utf8');
        expect(text).toContain("OF_THE_APP=it's $HOME `here`\nand there\n");
        expect(text).not.toMatch(/NODE_ENV=/);
        expect(text).not.toContain(serverSecret);
      });

      test('that is aborted ends with everything that it started', async () => {
        const text = `77${Math.floor(Math.random() * 1e6)}`;
        const app = bench.app('hanging', {}, text);
        const building = app.build().catch((thrown: unknown) => thrown);
        await bench.until(() => app.lines().includes('hanging'));
        await bench.until(() => processesWith(text) >= 2);
        app.abort(new Error('not wanted'));
        expect(String(await building)).toContain('not wanted');
        expect(processesWith(text)).toBe(0);
      });

      test('that was aborted before it began does not begin', async () => {
        const app = bench.app('site');
        app.abort(new Error('not wanted'));
        expect(String(await app.build().catch((thrown: unknown) => thrown))).toContain('not wanted');
        expect(app.lines()).toEqual([]);
      });

      test('that was discarded can not be started, and is discarded once', async () => {
        const app = bench.app('web');
        const built = await app.build();
        await bench.runtime.discard(built.artifact);
        await bench.runtime.discard(built.artifact);
        expect(await app.start(built).catch(() => 'refused')).toBe('refused');
        await bench.runtime.discard({});
      });
    });

    describe('an instance', () => {
      test('gets its variables and its port, and none of the server', async () => {
        const app = bench.app('web', { OF_THE_APP: 'a "quoted" $value' });
        const instance = await app.run();
        const text = await bench.answer(instance.address, '/env');
        expect(text).toContain('OF_THE_APP=a "quoted" $value\n');
        expect(text).toMatch(/^PORT=\d+$/m);
        expect(text).toMatch(/^HOST=/m);
        expect(text).not.toContain(serverSecret);
        await instance.stop();
      });

      test('that is started twice under one id is there once', async () => {
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

      test('is asked to end, ends in its own way, and is gone', async () => {
        const app = bench.app('web');
        const instance = await app.run();
        expect(await instance.look()).toEqual({ state: 'running', restarts: 0 });
        const began = performance.now();
        await instance.stop(20_000);
        expect(performance.now() - began).toBeLessThan(15_000);
        expect(app.lines()).toContain('bye');
        expect(await instance.look()).toEqual({ state: 'gone' });
        expect(await bench.isSilent(instance.address)).toBe(true);
        await instance.stop();
      });

      test('that does not end when asked is ended after the grace', async () => {
        const instance = await bench.app('stubborn').run();
        const began = performance.now();
        await instance.stop(1_000);
        expect(performance.now() - began).toBeGreaterThan(900);
        expect(await instance.look()).toEqual({ state: 'gone' });
        expect(await bench.isSilent(instance.address)).toBe(true);
      });

      test('that nobody has started is gone, uses nothing, and is stopped without a word', async () => {
        const none = { instanceId: crypto.randomUUID(), handle: {} };
        expect(await bench.runtime.look(none)).toEqual({ state: 'gone' });
        expect(await bench.runtime.usage(none)).toBeNull();
        await bench.runtime.stop(none, { graceMs: 10 });
      });

      test('that ends by itself is started again, and stopped while it waits for that', async () => {
        const app = bench.app('exits');
        const built = await app.build();
        const instance = await app.start(built);
        const restarts = async () => {
          const found = await instance.look();
          return found.state === 'gone' ? -1 : found.restarts;
        };
        await bench.until(async () => (await restarts()) >= 2);
        // What is said may be heard a moment after it is seen.
        await bench.until(async () => app.lines().filter((line) => line === 'going').length >= 2);
        await bench.until(async () => (await instance.look()).state === 'restarting');
        await instance.stop();
        expect(await instance.look()).toEqual({ state: 'gone' });
      });

      test('that ends again and again is given up', async () => {
        if (world.givesUp === 'late') return;
        const app = bench.app('exits');
        const instance = await app.start(await app.build());
        await bench.until(async () => (await instance.look()).state === 'failed');
        expect(await instance.look()).toMatchObject({ detail: expect.stringContaining('7') });
        await instance.stop();
      });

      test('that takes more memory than it may is ended, and its owners are told', async () => {
        const app = bench.app('hungry');
        const instance = await app.start(await app.build());
        await bench.until(() => app.lines().some((line) => line.includes('out of memory')));
        await instance.stop();
      });

      test('uses more CPU time the more it does', async () => {
        const instance = await bench.app('web').run();
        const before = await instance.usage();
        expect(before?.memoryBytes).toBeGreaterThan(100_000);
        await bench.answer(instance.address, '/burn');
        const after = await instance.usage();
        expect((after?.cpuMs ?? 0) - (before?.cpuMs ?? 0)).toBeGreaterThan(50);
        await instance.stop();
      });

      test('is heard whole: each line, long ones in pieces, bytes that are no text, and the last half', async () => {
        const app = bench.app('chatty');
        const instance = await app.start(await app.build());
        await bench.until(() => app.lines('stderr').includes('to the side'));
        await bench.until(() => app.lines('stdout').includes('bad\ufffdend'));
        await instance.stop();
        const lines = app.lines('stdout');
        const from = lines.indexOf('line 1');
        const expected = Array.from({ length: 200 }, (_, at) => `line ${at + 1}`);
        expect(lines.slice(from, from + 200)).toEqual(expected);
        const long = lines.filter((line) => /^x+$/.test(line));
        expect(long.join('')).toBe('x'.repeat(20_000));
        expect(Math.max(...long.map((line) => line.length))).toBeLessThanOrEqual(logLineBytesMax);
        expect(lines).toContain('half');
      });
    });

    test('tells the operator how it is', async () => {
      expect(await bench.runtime.check()).toMatchObject({ ok: true, detail: expect.stringMatching(/./) });
    });

    test('closed and opened again, it knows what runs', async () => {
      const app = bench.app('web');
      const instance = await app.run();
      const nodeBefore = bench.runtime.node;
      await bench.runtime.close();
      bench.runtime = await world.open();
      expect(bench.runtime.node).toBe(nodeBefore);
      const found = (await bench.runtime.list()).filter(({ appId }) => appId === app.appId);
      if (world.whenClosed === 'kept') {
        expect(found).toMatchObject([{ instanceId: instance.id, address: instance.address }]);
        expect(await instance.look()).toMatchObject({ state: 'running' });
        await instance.stop();
      } else {
        expect([found, await instance.look()]).toEqual([[], { state: 'gone' }]);
      }
      expect(await bench.isSilent(instance.address)).toBe(true);
    });
  });
}

/** How many processes of the machine have the text among their arguments; those in containers too. */
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
