import { beforeEach, describe, expect, test } from 'bun:test';
import { problem } from '../../testing/answers.ts';
import { useFakeServer } from '../../testing/fake-server.ts';

const server = useFakeServer();
const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';
const digest = 'a'.repeat(64);
const release = { id, number: 4, version: 'v2', files: 3, bytes: 12, config: { spa: true }, digest };
const site = {
  app_id: id,
  url: 'http://shop.apps.localhost/',
  staging_url: 'http://shop--staging.apps.localhost/',
  published: true,
  staging_enabled: true,
  config: { spa: true },
  generation: 1,
  updated_at: null,
  active_release: release as object | null,
  staged_release: release,
  promotion: null,
};

/** Answers by the end of their paths; other paths get the default answer. */
let answers: Record<string, unknown>;
beforeEach(() => {
  answers = {};
  server.intercept = (_request, { path, query }) => {
    const found = Object.entries(answers).find(([end]) => path.endsWith(end));
    return found && query.get('dry_run') !== 'true' ? Response.json(found[1]) : undefined;
  };
});

function svc(...args: string[]) {
  return server.svc(['apps', 'static', ...args, '--app', 'shop'], { columns: 300 });
}

const lastSeen = () => server.seen.at(-1);

describe('site set with ignored flags only', () => {
  test('reports that, exits with 0, and changes nothing', async () => {
    answers['/static/site'] = site;
    for (const flags of [['--visibility', 'public'], ['--service-worker-allowed']]) {
      const ran = await svc('site', 'set', ...flags, '--execute', '--json');
      expect([ran.exit, JSON.parse(ran.out).changed]).toEqual([0, false]);
      expect(ran.err).toContain(`${flags[0]} is ignored`);
      expect((await svc('site', 'set', ...flags)).exit).toBe(0);
    }
    const changes = server.seen.filter(({ method, query }) => method !== 'GET' && !query.has('dry_run'));
    expect(changes).toEqual([]);
    expect((await svc('site', 'set', '--execute')).exit).toBe(2);
  });
});

describe('--release-id', () => {
  const page = (numbers: number[], total = numbers.length) => ({
    items: numbers.map((number) => ({ ...release, number, id: `${id.slice(0, -2)}${10 + (number % 90)}` })),
    page: 1,
    per_page: 200,
    total,
  });

  test.each(['4', '#4'])('accepts the number of a release: %s', async (number) => {
    answers['/releases'] = page([5, 4, 3]);
    for (const command of ['get', 'files', 'stage', 'promote-reject', 'promote-approve', 'revoke']) {
      const ran = await svc('releases', command, '--release-id', number);
      const asked = server.seen.find(({ path }) => path.includes('/releases/'));
      expect([command, ran.exit, asked?.path]).toEqual([
        command,
        0,
        expect.stringContaining(`/releases/${id.slice(0, -2)}14`),
      ]);
      server.seen = [];
    }
  });

  test('searches only the pages that can contain the number', async () => {
    const pages = [
      page(
        Array.from({ length: 200 }, (_, at) => 500 - at),
        500,
      ),
      page([300, 4], 500),
    ];
    server.intercept = (_request, { path, query }) =>
      path.endsWith('/releases') ? Response.json(pages[Number(query.get('page')) - 1]) : undefined;
    expect((await svc('releases', 'get', '--release-id', '4')).exit).toBe(0);
    expect(server.seen.length).toBe(3);
    server.seen = [];
    const ran = await svc('releases', 'get', '--release-id', '#299');
    expect([ran.exit, server.seen.length]).toEqual([5, 2]);
    expect(ran.err).toMatch(/no release 299.*releases list/s);
  });

  test('that is neither is sent to the server without a list request', async () => {
    await svc('releases', 'get', '--release-id', 'first');
    expect(server.seen.map(({ path }) => path.split('/').at(-1))).toEqual(['first']);
  });
});

describe('a promotion', () => {
  test('is approved for the digest that was reviewed', async () => {
    const line = ['releases', 'promote-approve', '--release-id', id];
    await svc(...line, '--digest', digest, '--execute');
    expect(JSON.parse(server.seen.find(({ method }) => method === 'POST')?.body ?? '')).toEqual({ digest });
    server.seen = [];
    await svc(...line, '--execute');
    expect(JSON.parse(server.seen.find(({ method }) => method === 'POST')?.body ?? '')).toEqual({});
  });

  test('that is requested prints who reviews it, and where', async () => {
    Object.assign(answers, { '/static/site': site, '/promote-request': { release_id: id, digest } });
    const ran = await svc('releases', 'promote-request', '--release-id', id, '--execute');
    expect([ran.exit, ran.err]).toEqual([0, expect.stringContaining(site.staging_url)]);
    expect(ran.err).toContain(`promote-approve --release-id 4 --digest ${digest} --app shop --execute`);
    answers['/static/site'] = undefined;
    server.intercept = (_request, { path }) =>
      path.endsWith('/static/site') ? problem('unavailable') : undefined;
    expect((await svc('releases', 'promote-request', '--release-id', id, '--execute')).exit).toBe(0);
  });

  test('previews its approval with the staging URL and the configuration', async () => {
    answers['/static/site'] = site;
    const ran = await svc('releases', 'promote-approve', '--release-id', id);
    expect(ran.err).toContain(site.staging_url);
    expect(ran.err).toContain('{"spa":true}');
    expect(ran.err).toContain(`--digest ${digest}`);
    const bound = await svc('releases', 'promote-approve', '--release-id', id, '--digest', digest);
    expect([bound.err.includes(site.staging_url), bound.err.includes('--digest')]).toEqual([true, false]);
  });
});

describe('svc apps static site', () => {
  const shows = 'svc apps static releases activate --release-id 4 --app shop --execute';

  test('set prints the notices of the server and the effective configuration', async () => {
    const config = { spa: false };
    answers['/static/site'] = { ...site, config, notices: ['It takes effect later.'] };
    const ran = await svc('site', 'set', '--body-json', JSON.stringify(config), '--execute');
    expect([ran.exit, ran.err]).toEqual([0, 'It takes effect later.\n']);
    expect(ran.out).toMatch(/effective config +\{"spa":true\}/);
    answers['/static/site'] = site;
    expect((await svc('site', 'get')).out).toMatch(/effective config +same as config/);
    answers['/static/site'] = { ...site, active_release: null };
    expect((await svc('site', 'get')).out).toMatch(/effective config +-\n/);
  });

  test('get reports that an unpublished site shows nothing, and how to show it again', async () => {
    answers['/static/site'] = { ...site, published: false };
    const ran = await svc('site', 'get');
    expect(ran.out).toMatch(/url +\S+ \(unpublished\)\n.*active +4 v2, .* \(unpublished\)\n/s);
    expect(ran.err).toContain(shows);
    answers['/static/site'] = site;
    const published = await svc('site', 'get');
    expect([published.err, published.out.includes('not')]).toEqual(['', false]);
  });

  test('unpublish prints how to show the site again, and that a repetition changes nothing', async () => {
    answers['/unpublish'] = { ...site, published: false };
    const ran = await svc('site', 'unpublish', '--execute');
    expect([ran.err.includes(shows), ran.err.includes('already')]).toEqual([true, false]);
    answers['/unpublish'] = { ...site, published: false, changed: false };
    expect((await svc('site', 'unpublish', '--execute')).err).toMatch(/already unpublished.*activate/s);
  });
});

test('svc apps static releases create prints the line that finalizes the release', async () => {
  const body = JSON.stringify({ files: [{ path: 'a', sha256: digest, size: 1 }] });
  const ran = await svc('releases', 'create', '--body-json', body, '--execute');
  expect(ran.err).toContain('svc apps static releases finalize --release-id 1 --app shop --execute');
  expect(lastSeen()?.path).toMatch(/releases$/);
});
