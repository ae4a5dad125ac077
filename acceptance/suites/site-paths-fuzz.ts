import { beforeAll, expect, test } from 'bun:test';
import { openServerDatabase } from '../support/database.ts';
import { newRandom } from '../support/random.ts';
import { Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';
import {
  askHost,
  moveRelease,
  newRelease,
  newSite,
  plainBytes,
  type SiteFiles,
  type SiteGround,
  setVisibility,
} from '../support/sites.ts';
import { type RawAnswer, sendRaw } from '../support/sockets.ts';
import { repeatConcurrently } from '../support/until.ts';
import { hostileHost, hostileTarget, type KnownNames } from './hostile-paths.ts';

export function sitePathsFuzz({ pathsCount }: { pathsCount: number }): void {
  const pipelined = 8;
  const connections = 8;

  /** A site with three releases, of which visitors see the second; every byte identifies its release. */
  interface Marked {
    site: SiteGround;
    shown: string;
    /** Markers of releases that nobody may see. */
    hidden: string[];
    files: SiteFiles;
  }

  let server: RunningServer;
  let sites: Marked[];
  let names: KnownNames;
  /** The marker that an answer for this host may contain; none for all others. */
  let markAt: Map<string, string>;
  let marks: string[];

  const newMark = () => `mark${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const filesOf = (mark: string, name: string): SiteFiles => {
    const content = (kind: string) => `<!-- ${kind} -->${mark.repeat(30)}`;
    return {
      'index.html': content('index'),
      '404.html': content('nothing'),
      'about.html': content('about'),
      'docs/index.html': content('docs'),
      'docs/guide.html': content('guide'),
      'assets/app.0123456789ab.js': content('script'),
      'assets/data.bin': Buffer.from(content('data')),
      'café/menü.html': content('menu'),
      'two words.txt': content('words'),
      '.well-known/site.txt': content('known'),
      [`${name}/only-here.txt`]: content('only here'),
    };
  };

  beforeAll(async () => {
    server = await startEmbedded();
    sites = [];
    for (const [at, config] of [{}, { spa: true }, { clean_urls: false, trailing_slash: true }].entries()) {
      const site = await newSite(server);
      const [old, shown, next] = [newMark(), newMark(), newMark()];
      const deploy = (mark: string, more: object) =>
        newRelease(site, filesOf(mark, `only-${at}`), { config, ...more });
      await deploy(old, { on_finalize: 'deploy' });
      await deploy(shown, { on_finalize: 'deploy' });
      const { id } = await deploy(next, {});
      expect((await site.owner.call('POST', `${site.base}/site/staging/enable`)).status).toBe(200);
      expect((await moveRelease(site, id, 'stage')).status).toBe(200);
      // The third stays private.
      const isOpen = at < 2;
      if (isOpen) await setVisibility(site, 'internet');
      sites.push({
        site,
        shown: isOpen ? shown : '',
        hidden: isOpen ? [old, next] : [old, shown, next],
        files: filesOf(shown, `only-${at}`),
      });
    }
    markAt = new Map(sites.map(({ site, shown }) => [site.host, shown]));
    marks = sites.flatMap(({ shown, hidden }) => [shown, ...hidden]).filter((mark) => mark !== '');
    names = await namesOf(server);
  });

  async function namesOf(on: RunningServer): Promise<KnownNames> {
    const database = openServerDatabase(on);
    const column = async (text: string) => (await database.query(text)).map(({ it }) => String(it));
    const blobs = await column('select blob_id::text as it from svc.static_blobs');
    const found = {
      hosts: sites.flatMap(({ site, shown }) => [
        ...(shown ? [site.host, site.host, site.host, site.host] : [site.host]),
        site.stagingHost,
      ]),
      paths: [...new Set(sites.flatMap(({ files }) => Object.keys(files)))],
      ids: [
        ...blobs,
        ...(await column('select sha256 as it from svc.static_blobs')),
        ...(await column('select id::text as it from svc.static_releases')),
        ...(await column('select app_id::text as it from svc.static_sites')),
      ],
      places: await column(
        `select 'static/' || tenant_id || '/' || app_id || '/' || blob_id as it from svc.static_blobs`,
      ),
    };
    await database.close();
    return {
      ...found,
      places: [...found.places, ...found.places.map((place) => `objects/keys/st~/${place}`)],
    };
  }

  /** Checks that every host and path works, so that the rest of the test can fail at all. */
  test('each of the sites shows its own release, and the private one nothing', async () => {
    for (const { site, shown, files } of sites) {
      for (const [path, content] of Object.entries(files)) {
        const answer = await askHost(server, `${site.host}:${server.port}`, `/${encodeURI(path)}`);
        const location = answer.headers.location;
        const last =
          shown !== '' && location !== undefined
            ? await askHost(server, `${site.host}:${server.port}`, location)
            : answer;
        expect([path, last.status === 200, last.text === String(content)]).toEqual([
          path,
          shown !== '',
          shown !== '',
        ]);
      }
    }
  });

  test('hostile paths and hosts get not a byte of another site or release, and no fault of the server', async () => {
    const { port } = server;
    const random = newRandom();
    const statuses = new Tally();
    const wrong: string[] = [];
    let [answered, cut, withContent] = [0, 0, 0];
    const begun = performance.now();

    const judge = ({ line, hosts }: Sent, { status, headers, body }: RawAnswer, behind: readonly Sent[]) => {
      statuses.add(status);
      const text = plainBytes(body, headers['content-encoding']).toString('latin1');
      const found = marks.filter((mark) => text.includes(mark) || JSON.stringify(headers).includes(mark));
      if (found.length > 0) withContent++;
      const allowed = marksAllowed(line, hosts);
      if (hosts.length > 1 && ![400, 414, 505].includes(status))
        wrong.push(`two hosts are ${status}: ${line}`);
      else if (found.length > 1 || found.some((mark) => !allowed.includes(mark)))
        wrong.push(`another's content: ${line} of ${hosts}`);
      // Bun answers 505 to a request line with bytes that no URL may have, also ahead of other answers.
      const isUnread = status === 505 && behind.some((sent) => /[^!-~]/.test(targetOf(sent.line)));
      if (status >= 500 && !isUnread) wrong.push(`${status}: ${line} of ${hosts}`);
      if (!headers['x-request-id'] && status !== 400 && status !== 505) wrong.push(`no request id: ${line}`);
      if (headers['set-cookie']?.toLowerCase().includes('domain=')) wrong.push(`a wide cookie: ${line}`);
      const { location } = headers;
      if (location !== undefined && !staysHere(location, port))
        wrong.push(`led away to ${location}: ${line}`);
    };
    await repeatConcurrently(Math.ceil(pathsCount / pipelined), connections, async () => {
      let left = random.times(pipelined, () => newRequest(port));
      for (let atOnce = left.length; left.length > 0; ) {
        const batch = left.slice(0, atOnce);
        const answers = await sendRaw(port, batch);
        for (const [at, answer] of answers.entries()) judge(left[at]!, answer, left.slice(at));
        answered += answers.length;
        if (answers.length < batch.length) cut++;
        // The connection was closed because of a later request: sent again alone.
        const isAlone = answers.length === 0 && batch.length > 1;
        left = left.slice(isAlone ? 0 : Math.max(1, answers.length));
        atOnce = isAlone ? 1 : pipelined;
      }
    });

    function newRequest(at: number): Sent {
      const hosts = hostileHost(random, names, at);
      const method = random.pick(['GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'HEAD']);
      const line = `${method} ${hostileTarget(random, names)} HTTP/1.1`;
      const extra = random.pick([
        '',
        '',
        '',
        'accept-encoding: br, gzip\r\n',
        'accept: text/html\r\n',
        'range: bytes=10-400\r\n',
        'if-none-match: *\r\n',
        'x-forwarded-host: x\r\n',
        'x-original-url: /x\r\n',
      ]);
      const head = `${line}\r\n${hosts.map((host) => `host: ${host}\r\n`).join('')}${extra}\r\n`;
      return { line, hosts, isHead: method === 'HEAD', bytes: Buffer.from(head, 'latin1') };
    }

    const seconds = (performance.now() - begun) / 1000;
    console.log(
      `site paths fuzz: seed ${random.seed}; ${answered} of ${pathsCount} answered in ${seconds.toFixed(1)} s, ` +
        `${withContent} with content of the right release, ${cut} connections closed with requests left; wrong: ${wrong.length}; ${statuses}`,
    );
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(withContent).toBeGreaterThan(pathsCount / 20);
    expect(answered).toBeGreaterThan(pathsCount * 0.99);
  });

  interface Sent {
    line: string;
    hosts: string[];
    isHead: boolean;
    bytes: Buffer;
  }

  /** If target and Host header name two sites, either may answer, but not both; malformed ones name none. */
  function marksAllowed(line: string, hosts: readonly string[]): string[] {
    const absolute = / https?:\/\/([^/?#\s]*)/i.exec(line)?.[1];
    const named = [...(hosts.length === 1 ? hosts : []), ...(absolute === undefined ? [] : [absolute])];
    return named.map((host) => {
      const name = host.toLowerCase().replaceAll('%2e', '.').replace(/:\d*$/, '').replace(/\.$/, '');
      return markAt.get(name) ?? '';
    });
  }

  const targetOf = (line: string) => line.slice(line.indexOf(' ') + 1, line.lastIndexOf(' '));

  /** A redirect stays within the requested site or leads to the platform's sign-in. */
  function staysHere(location: string, port: number): boolean {
    if (/^\/(?![/\\])/.test(location)) return true;
    return (
      location.startsWith(`http://localhost:${server.port}/`) ||
      location.startsWith(`http://localhost:${port}/`)
    );
  }
}
