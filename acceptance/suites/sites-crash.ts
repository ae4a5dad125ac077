import { expect, test } from 'bun:test';
import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { openServerDatabase } from '../support/database.ts';
import { done } from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';

import {
  askSite,
  createDraft,
  moveRelease,
  newRelease,
  newSite,
  type SiteFiles,
  type SiteGround,
  sendMissing,
  sumOf,
  visitorCookie,
} from '../support/sites.ts';
import { until } from '../support/until.ts';

export function sitesCrash({ killsPerPhase }: { killsPerPhase: number }): void {
  const phases = ['upload', 'finalize', 'activate'] as const;
  type Phase = (typeof phases)[number];

  /** The same paths in each release; a file contains one marker. Some are large enough for a slow upload. */
  function filesOf(mark: string, random: Random): SiteFiles {
    return {
      'index.html': `<title>${mark}</title>${mark.repeat(30)}`,
      'site.css': mark.repeat(600),
      'site.js': mark.repeat(2_000 + random.below(20_000)),
      'deep/index.html': mark.repeat(20),
      'tiny.txt': mark,
      'noise.bin': noise(mark, 100_000 + random.below(200_000)),
      // Stored since the first release: not sent again.
      'same.txt': 'This is in every release. '.repeat(50),
    };
  }

  /** Content that cannot be compressed and begins with the marker. */
  function noise(mark: string, size: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; at += 32)
      bytes.set(Buffer.from(sumOf(`${mark}${at}`), 'hex').subarray(0, Math.min(32, size - at)), at);
    bytes.set(Buffer.from(mark));
    return bytes;
  }
  const addressOf = (path: string) => `/${path.replace(/index\.html$/, '')}`;

  test('kill -9 in upload, finalize and activate: every answer is of one complete release, a repeat continues, and no bytes are left behind', async () => {
    const random = newRandom();
    let server = await startEmbedded();
    const site = await newSite(server);
    const newFiles = () => filesOf(`m${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)};`, random);
    const releases: SiteFiles[] = [newFiles()];
    let shown = releases[0]!;
    const { pointer } = await newRelease(site, shown, { on_finalize: 'deploy' });
    expect(pointer).toBe('active');
    const cookie = await visitorCookie(site, site.owner);

    const statuses = new Tally();
    const wrong: string[] = [];
    const kills = new Tally();
    let [over, answers, unanswered, goneOn] = [false, 0, 0, 0];
    /** The release of a file; null: none. */
    const releaseOf = (path: string, text: string) =>
      releases.find((files) => Buffer.from(files[path] as string).toString() === text) ?? null;
    const ask = async (path: string) => {
      const answer = await askSite(site, addressOf(path), { headers: { cookie } }).catch(() => null);
      if (answer === null) return null;
      statuses.add(answer.status);
      answers++;
      // Answers of a server that is stopping or starting.
      if (answer.status === 503) return null;
      const found = answer.status === 200 ? releaseOf(path, answer.text) : null;
      if (!found) wrong.push(`${path}: ${answer.status}, ${answer.text.length} characters of no release`);
      return found;
    };
    const reader = async () => {
      while (!over) {
        const found = await ask(random.pick(Object.keys(shown)));
        // A slow sequence of visitors, not a load: the test is about the kills.
        await Bun.sleep(found === null ? 20 : 5);
      }
    };
    const readers = [reader(), reader()];

    /** Checks that all files are of one release, which is one of these. */
    const isWhole = async (when: string, allowed: readonly SiteFiles[]) => {
      const found = new Set<SiteFiles | null>();
      for (const path of Object.keys(shown)) {
        if (path !== 'same.txt') found.add(await until(`${path} is answered`, () => ask(path), 20_000));
      }
      const [one] = found;
      if (found.size !== 1 || !one || !allowed.includes(one))
        wrong.push(`${when}: ${found.size} releases at once, or one that it can not be`);
      return one ?? null;
    };

    for (const phase of phases) {
      for (let kill = 0; kill < killsPerPhase; kill++) {
        const files = newFiles();
        releases.push(files);
        const work = begin(phase, site, files, random);
        await work.isUnderWay;
        await Bun.sleep(random.below(phase === 'upload' ? 60 : 12));
        server.signal('SIGKILL');
        await server.exited;
        const outcome = await work.ended;
        kills.add(`${phase} ${outcome}`);
        if (outcome === 'not answered') unanswered++;
        server = await startEmbedded({ dataDir: server.dataDir, port: server.port });

        // An acknowledged change is visible; without an answer, either state is right.
        const allowed = phase === 'upload' ? [shown] : outcome === 'done' ? [files] : [shown, files];
        const now = await isWhole(`after the kill in ${phase}`, allowed);
        const again = await deployAgain(site, files);
        if (again.missing < Object.keys(files).length - 1) goneOn++;
        if (again.pointer !== 'active' && now !== files) wrong.push(`the repeat moved ${again.pointer}`);
        await until('the repeat is shown', async () => (await ask('tiny.txt')) === files);
        shown = files;
        await isWhole(`after the repeat in ${phase}`, [files]);
      }
    }
    over = true;
    await Promise.all(readers);
    const left = await sweptClean(server, site);
    console.log(
      `sites crash: seed ${random.seed}; kills: ${kills}; ${unanswered} moves without an answer, ${goneOn} repeats went on; ` +
        `${answers} answers of the site (${statuses}); ${left}; wrong: ${wrong.length}`,
    );
    expect(wrong.slice(0, 20)).toEqual([]);
    // A kill may come after the answer, but not each of them.
    expect(unanswered).toBeGreaterThan(0);
    expect(goneOn).toBeGreaterThan(0);
    expect(statuses.except(200, 503)).toEqual([]);
    expect(answers).toBeGreaterThan(killsPerPhase * 20);
    await server.stop();
  });

  interface Work {
    /** The phase to interrupt has started. */
    isUnderWay: Promise<unknown>;
    ended: Promise<'done' | 'not answered'>;
  }

  /** Completes everything before the phase and starts the phase. */
  function begin(phase: Phase, site: SiteGround, files: SiteFiles, random: Random): Work {
    const begun = Promise.withResolvers<void>();
    const work = async () => {
      if (phase === 'upload') {
        const draft = await createDraft(site, files, { on_finalize: 'deploy' });
        const bySum = new Map(Object.values(files).map((content) => [sumOf(content), content]));
        const sums = random.some(draft.missing, draft.missing.length);
        begun.resolve();
        await Promise.all(
          sums.map(async (sum) => {
            const sent = await fetch(draft.upload_url + sum, { method: 'PUT', body: bySum.get(sum)! });
            if (!sent.ok) throw new Error(`${sent.status}`);
            await sent.arrayBuffer();
          }),
        );
        return;
      }
      const isFinalize = phase === 'finalize';
      const draft = await createDraft(site, files, { on_finalize: isFinalize ? 'deploy' : 'nothing' });
      await sendMissing(draft, files);
      if (!isFinalize) await done(moveRelease(site, draft.id, 'finalize'));
      begun.resolve();
      await done(moveRelease(site, draft.id, phase));
    };
    const ended = work().then(
      () => 'done' as const,
      (error: unknown) => {
        begun.reject(error);
        return 'not answered' as const;
      },
    );
    return { isUnderWay: begun.promise, ended };
  }

  /** Repeats the command: uploaded files are not sent again. */
  async function deployAgain(
    site: SiteGround,
    files: SiteFiles,
  ): Promise<{ missing: number; pointer: string | null }> {
    const draft = await createDraft(site, files, { on_finalize: 'deploy' });
    await sendMissing(draft, files);
    const { pointer } = await done(moveRelease(site, draft.id, 'finalize'));
    return { missing: draft.missing.length, pointer };
  }

  /** Days later, after the cleanup jobs: the store contains exactly the objects that rows refer to. */
  async function sweptClean(server: RunningServer, site: SiteGround): Promise<string> {
    const folder = join(server.dataDir, 'objects', 'keys');
    const database = openServerDatabase(server);
    const wanted = async () => {
      const rows = await database.query(
        `select blob_id::text as id, gzip_size is not null as gzip, brotli_size is not null as brotli
       from svc.static_blobs where app_id = $1`,
        [site.app.id],
      );
      return rows
        .flatMap(({ id, gzip, brotli }) => [
          `${id}`,
          ...(gzip ? [`${id}.gz`] : []),
          ...(brotli ? [`${id}.br`] : []),
        ])
        .sort();
    };
    const unreferenced = async () => {
      const [row] = await database.query(
        `select count(*)::int as count from svc.static_blobs b where not exists (
         select from svc.static_files f join svc.static_releases r on r.id = f.release_id
         where f.sha256 = b.sha256 and r.app_id = b.app_id and r.state in ('draft', 'finalized'))`,
      );
      return Number(row?.count);
    };
    const found = () =>
      pathsIn(folder)
        .map((path) => path.slice(path.lastIndexOf('/') + 1))
        .sort();
    const orphans = found().length - (await wanted()).length;
    await database.query(`update svc.static_releases set created_at = created_at - interval '3 days'`);
    await database.query(`update svc.static_blobs set stored_at = stored_at - interval '3 days'`);
    const old = new Date(Date.now() - 3 * 86_400_000);
    for (const path of pathsIn(folder)) utimesSync(path, old, old);
    const due = await database.query(
      `insert into pgboss.job (name, data) select name, data from pgboss.schedule where key like 'releases.%' returning name`,
    );
    expect(due.length).toBeGreaterThan(0);
    await until(
      'the store holds what rows name and nothing else',
      async () => JSON.stringify(found()) === JSON.stringify(await wanted()) && (await unreferenced()) === 0,
      60_000,
    );
    const count = found().length;
    expect(pathsIn(join(server.dataDir, 'objects', 'uploads'))).toEqual([]);
    await database.close();
    return `${orphans} objects without a row before the sweep, ${count} objects and no orphan after it`;
  }

  function pathsIn(folder: string): string[] {
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  }
}
