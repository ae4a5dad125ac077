import { expect, test } from 'bun:test';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { databaseUrlOf } from '../support/database.ts';
import { done } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded, startServer, temporaryFolder } from '../support/server.ts';
import {
  askHost,
  askSite,
  moveRelease,
  newRelease,
  newSite,
  type SiteFiles,
  type SiteGround,
  setVisibility,
} from '../support/sites.ts';
import { until } from '../support/until.ts';

export function siteSwitch({ roundsCount }: { roundsCount: number }): void {
  /** Quick switches in each round, before one that stays until visitors see it. */
  const quickSwitches = 5;
  const clientsCount = 6;
  /** How long requests that start after the answer to the switch may still see the replaced release. */
  const staleMsMax = 1_000;
  const encodings = ['', 'gzip', 'br', 'br, gzip;q=0.5'];

  interface Shown {
    id: string;
    files: SiteFiles;
  }

  /** The same paths in every release; each file repeats one marker; some are too small for compression. */
  function filesOf(mark: string): SiteFiles {
    return {
      'index.html': `<title>${mark}</title>${mark.repeat(40)}`,
      'site.css': `/* ${mark} */${mark.repeat(200)}`,
      'site.js': mark.repeat(4_000),
      'tiny.txt': mark,
      'deep/index.html': `${mark} deep ${mark.repeat(20)}`,
    };
  }
  const addressOf = (path: string) => `/${path.replace(/index\.html$/, '')}`;

  test('switching under load: each answer is whole and of one release, none fails, and the old one is gone within a second', async () => {
    const random = newRandom();
    const server = await startEmbedded();
    const other = await startCopy(server);
    const site = await newSite(server);
    const first = await reviewed(site, 'one');
    const second = await reviewed(site, 'two');
    const releases = [first, second];
    expect((await askSite(site, '/')).text).toBe(String(second.files['index.html']));

    /** When a release was last replaced, by its id; none while it is active. */
    const replacedAt = new Map<string, number>([[first.id, performance.now()]]);
    const statuses = new Tally();
    const tags = new Map<string, string>();
    const wrong: string[] = [];
    let [over, answers] = [false, 0];
    const stalestMs = new Map<number, number>();

    const client = async (listener: { port: number }) => {
      let known = '';
      while (!over) {
        const path = random.pick(Object.keys(first.files));
        const encoding = random.pick(encodings);
        const isConditional = known !== '' && random.chance(0.3);
        const begun = performance.now();
        const answer = await askHost(listener, site.host, addressOf(path), {
          headers: {
            ...(encoding && { 'accept-encoding': encoding }),
            ...(isConditional && { 'if-none-match': known }),
          },
        }).catch((error: unknown) => `${error}`);
        if (typeof answer === 'string') {
          wrong.push(`${path} failed: ${answer}`);
          continue;
        }
        const { status, headers, text } = answer;
        statuses.add(status);
        answers++;
        const tag = headers.etag ?? '';
        if (status === 304) {
          if (tag !== known) wrong.push(`304 with ${tag} for ${known}`);
          continue;
        }
        const shown = releases.find(({ files }) => String(files[path]) === text);
        if (status !== 200 || !shown) {
          wrong.push(`${path}: ${status} with ${text.length} characters of no one release`);
          continue;
        }
        known = tag;
        const whole = `${shown.id} ${path} ${headers['content-encoding'] ?? ''}`;
        if ((tags.get(tag) ?? whole) !== whole) wrong.push(`${tag} is of ${tags.get(tag)} and of ${whole}`);
        tags.set(tag, whole);
        const replaced = replacedAt.get(shown.id);
        if (replaced !== undefined && begun > replaced) {
          stalestMs.set(listener.port, Math.max(stalestMs.get(listener.port) ?? 0, begun - replaced));
          if (begun - replaced > staleMsMax)
            wrong.push(`${path} of the old release ${Math.round(begun - replaced)} ms after the switch`);
        }
      }
    };
    const ports = [server.port, other.port];
    const clients = Array.from({ length: clientsCount }, (_, at) =>
      client({ port: ports[at % ports.length]! }),
    );

    let [switches, at] = [0, 1];
    const switchOver = async () => {
      const [from, to] = [releases[at]!, releases[1 - at]!];
      // The new release may be visible before the answer; the other counts as replaced from the answer on.
      replacedAt.delete(to.id);
      const answer = await moveRelease(site, to.id, random.pick(['activate', 'rollback']));
      expect(answer.status).toBe(200);
      replacedAt.set(from.id, performance.now());
      at = 1 - at;
      switches++;
    };
    for (let round = 0; round < roundsCount; round++) {
      for (let quick = 0; quick < quickSwitches; quick++) {
        await switchOver();
        const wanted = answers + random.below(30);
        await until('some answers came', async () => answers >= wanted);
      }
      await switchOver();
      const since = performance.now();
      await until('a second has passed', async () => performance.now() > since + staleMsMax + 200);
    }
    over = true;
    await Promise.all(clients);
    console.log(
      `site switch: seed ${random.seed}; ${switches} switches, ${answers} answers (${statuses}), the old seen at most ${ports.map((port) => (stalestMs.get(port) ?? 0).toFixed(0)).join(', ')} ms later (main, edge, another copy); wrong: ${wrong.length}`,
    );
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(statuses.count(200)).toBeGreaterThan(roundsCount * 20);
  });

  /** A second server on the same database and the same objects, which learns of a switch only through these. */
  function startCopy(server: RunningServer): Promise<RunningServer> {
    const dataDir = join(temporaryFolder(), 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    symlinkSync(join(server.dataDir, 'objects'), join(dataDir, 'objects'));
    return startServer({
      dataDir,
      env: { SVC_DATABASE_URL: databaseUrlOf(server), SVC_SEED: 'none', SVC_LOG_LEVEL: 'warn' },
    });
  }

  /** Public from the second release on: staged, requested by the owner, approved by the admin. */
  async function reviewed(site: SiteGround, word: string): Promise<Shown> {
    const files = filesOf(`${word}-${Bun.randomUUIDv7().slice(-12)};`);
    await done(site.owner.call('POST', `${site.base}/site/staging/enable`));
    const { id } = await newRelease(site, files);
    await done(moveRelease(site, id, 'stage'));
    await setVisibility(site, 'internet');
    await done(moveRelease(site, id, 'promote-request'));
    await done(site.tenant.admin.call('POST', `${site.base}/releases/${id}/promote-approve`));
    return { id, files };
  }
}
