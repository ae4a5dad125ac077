import { beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../../../scripts/patience.ts';
import { type FakeGitHost, issueCodes, secretCode } from '../../testing/fake-git-host.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { interruptWhen, newFolder, type RunOptions } from '../../testing/run-svc.ts';

const server = useFakeServer();
let dir: string;
let host: FakeGitHost;
beforeEach(async () => {
  dir = join(newFolder(), 'config');
  // A canceled poll of the previous test may still arrive; it arrives before this request.
  await fetch(server.url);
  server.seen = [];
  host = issueCodes(server);
});

const link = (flags: string[] = [], options: RunOptions = {}) =>
  server.svc(['git-host', 'link', ...flags], {
    ...options,
    env: { SVC_CONFIG_DIR: dir, ...options.env },
  });
const folder = () => join(dir, 'git-host');
const files = () => (existsSync(folder()) ? readdirSync(folder()) : []);
const file = () => join(folder(), files()[0] ?? 'none');
const stored = () => JSON.parse(readFileSync(file(), 'utf8'));
const change = (fields: object) => writeFileSync(file(), JSON.stringify({ ...stored(), ...fields }));
/** Skips the time until the next poll. */
const askable = () => change({ next_poll_at: '2020-01-01T00:00:00.000Z' });
const shown = 'Open https://git.example/login/device and enter the code WDJB-MJHT\n';

describe('svc git-host link', () => {
  test('without a terminal shows URL and code, stores the code, and exits with 11', async () => {
    const ran = await link(['--json']);
    expect([ran.exit, ran.err.startsWith(shown)]).toEqual([11, true]);
    expect(ran.err).toContain('svc git-host link --resume-last --wait-approval 10m --tenant demo');
    expect(JSON.parse(ran.out)).toMatchObject({
      status: 'pending',
      device_code: secretCode,
      user_code: 'WDJB-MJHT',
      interval_seconds: 0.02,
    });
    expect(stored()).toMatchObject({
      device_code: secretCode,
      user_code: 'WDJB-MJHT',
      purpose: 'link',
      run_id: null,
      profile: 'default',
      base_url: server.url,
      expires_at: '2031-05-01T12:15:00.000Z',
    });
    const modes = [file(), folder()].map((path) => statSync(path).mode & 0o777);
    expect([modes, host.polledCodes]).toEqual([[0o600, 0o700], []]);
  });

  test('on a terminal waits for the approval', async () => {
    host.polls = ['pending', 'html', 'pending', 'linked'];
    const ran = await link([], { terminal: true });
    expect([ran.exit, ran.out]).toEqual([0, 'Your account ann at https://git.example is linked.\n']);
    expect([ran.err, host.polledCodes.length, files()]).toEqual([shown, 4, []]);
  });

  test('never prints the device code on standard error, even with --verbose', async () => {
    host.polls = ['pending', 'denied'];
    const began = await link(['--verbose']);
    askable();
    const resumed = await link(['--resume-last', '--verbose']);
    askable();
    const denied = await link(['--device-code', secretCode, '--verbose']);
    const output = [began, resumed, denied].map(({ out, err }) => out + err).join('');
    expect([began.exit, resumed.exit, denied.exit, output.includes(secretCode)]).toEqual([11, 11, 4, false]);
  });

  test('exits with 130 at Ctrl-C, and prints how to resume', async () => {
    host.polls = ['pending'];
    const ran = await link([], {
      terminal: true,
      interrupt: interruptWhen(() => host.polledCodes.length > 0),
    });
    expect(ran.exit).toBe(130);
    expect(ran.err).toContain('can still be approved');
    expect(ran.err).toContain('--resume-last');
    expect(stored().device_code).toBe(secretCode);
  });

  test.each(['javascript:alert(1)', 'file:///etc/passwd', 'not an address', 'https://ann:pw@git.example/'])(
    'does not send anybody to %s',
    async (address) => {
      host.verificationUri = address;
      const ran = await link();
      expect([ran.exit, ran.err.includes(address), ran.err.includes('WDJB-MJHT')]).toEqual([11, false, true]);
    },
  );

  test('removes control characters from texts of the server', async () => {
    host.verificationUri = 'https://git.example/\u001b[2J';
    expect((await link()).err).not.toContain('\u001b');
  });
});

describe('svc git-host link --resume-last', () => {
  test('polls once: exit 11 with the code while pending, 0 when linked, 5 afterwards', async () => {
    host.polls = ['pending', 'linked'];
    await link();
    askable();
    const pending = await link(['--resume-last']);
    expect([pending.exit, pending.err.startsWith(shown), host.polledCodes]).toEqual([11, true, [secretCode]]);
    askable();
    const linked = await link(['--resume-last', '--json']);
    expect([linked.exit, JSON.parse(linked.out).account.login, host.polledCodes.length]).toEqual([
      0,
      'ann',
      2,
    ]);
    const none = await link(['--resume-last']);
    expect([none.exit, host.polledCodes.length, host.issued]).toEqual([5, 2, 1]);
    expect(none.err).toContain('no_device_code');
  });

  test('waits until the stored time of the next poll, reports that, and polls once', async () => {
    host.intervalSeconds = 1;
    await link();
    const until = Date.parse(stored().next_poll_at);
    const ran = await link(['--resume-last', '--json']);
    expect([ran.exit, JSON.parse(ran.out).status, host.polledCodes.length]).toEqual([0, 'linked', 1]);
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(ran.err).toBe('Waiting 1s for the polling interval of the git host.\n');
  });

  test.each([
    ['at Ctrl-C', [], { interrupt: interruptWhen(({ err }) => err.includes('Waiting')) }, 130],
    ['with the time of the command', ['--timeout', `${patientMs(200)}ms`], {}, 10],
  ] as const)(
    'ends that wait %s, sends no request, and prints how to resume',
    async (_, flags, options, exit) => {
      host.intervalSeconds = 60;
      await link();
      const ran = await link(['--resume-last', ...flags], options);
      expect([ran.exit, host.polledCodes, files().length]).toEqual([exit, [], 1]);
      expect(ran.err).toContain('Resume with svc git-host link --resume-last');
    },
  );

  test('polls at once if the clock was set back', async () => {
    await link();
    change({ next_poll_at: '2999-01-01T00:00:00.000Z' });
    expect([(await link(['--resume-last'])).exit, host.polledCodes.length]).toEqual([0, 1]);
  });

  test('stores a longer polling interval', async () => {
    host.intervalSeconds = 5;
    host.polls = ['slow_down', 'pending'];
    await link();
    for (const seconds of [10, 10]) {
      askable();
      expect((await link(['--resume-last'])).exit).toBe(11);
      expect(stored().interval_seconds).toBe(seconds);
      expect(Date.parse(stored().next_poll_at) - Date.now()).toBeWithin(5_000, 10_001);
    }
  });

  test.each([
    ['expired', 6, 'device_code_expired'],
    ['denied', 4, 'access_denied'],
    ['foreign', 5, 'not_found'],
  ] as const)('with a code that is %s exits with %p, and forgets it', async (answer, exit, code) => {
    host.polls = [answer];
    await link();
    askable();
    const ran = await link(['--resume-last']);
    expect([ran.exit, ran.err.includes(`(${code})`), files()]).toEqual([exit, true, []]);
  });

  test('keeps the code after an unexpected answer', async () => {
    host.polls = ['html'];
    await link();
    askable();
    expect([(await link(['--resume-last'])).exit, files().length]).toEqual([13, 1]);
  });

  test('separates the codes of profiles, tenants and servers', async () => {
    await link(['--profile', 'one']);
    askable();
    expect((await link(['--resume-last'])).exit).toBe(5);
    expect((await link(['--resume-last', '--profile', 'two'])).exit).toBe(5);
    const elsewhere = { SVC_BASE_URL: server.url.replace('localhost', '127.0.0.1') };
    expect((await link(['--resume-last', '--profile', 'one'], { env: elsewhere })).exit).toBe(5);
    host.also = ({ path }) =>
      path.endsWith('/tenants/other') ? Response.json({ id: 'another-id', slug: 'other' }) : undefined;
    expect((await link(['--resume-last', '--profile', 'one', '--tenant', 'other'])).exit).toBe(5);
    expect(host.polledCodes).toEqual([]);
    expect((await link(['--resume-last', '--profile', 'one'])).exit).toBe(0);
  });
});

describe('--wait-approval', () => {
  test('polls at the interval of the host until the approval', async () => {
    host.polls = ['pending', 'html', 'linked'];
    await link();
    const ran = await link(['--resume-last', '--wait-approval', '6s']);
    expect([ran.exit, host.polledCodes.length]).toEqual([0, 3]);
  });

  test('that times out exits with 10 and keeps the code', async () => {
    host.polls = ['pending'];
    host.intervalSeconds = 1;
    await link();
    const ran = await link(['--resume-last', '--wait-approval', '6s']);
    expect([ran.exit, files().length]).toEqual([10, 1]);
    expect(ran.err).toContain('not approved within 6s');
    expect(host.polledCodes.length).toBeWithin(1, 8);
  });

  test('is limited by a shorter --timeout', async () => {
    host.polls = ['pending'];
    await link();
    const ran = await link(['--resume-last', '--wait-approval', '6s', '--timeout', '2s']);
    expect([ran.exit, ran.err.includes('within 2s')]).toEqual([10, true]);
  });

  test.each([
    ['--resume-last --wait-approval 5s', '6s'],
    ['--resume-last --wait-approval 11m', '10m'],
    ['--resume-last --wait-approval 6', 'Add a unit'],
    ['--wait-approval 6s', '--device-code or --resume-last'],
    ['--resume-last --device-code abc', 'cannot be combined'],
  ])('%s is a usage error before any request', async (flags, message) => {
    const ran = await link(flags.split(' '));
    expect([ran.exit, server.seen, ran.err.includes(message)]).toEqual([2, [], true]);
  });
});

describe('--device-code', () => {
  test('resumes with a code from another machine, from the flag or the environment', async () => {
    host.polls = ['pending', 'linked'];
    const env = { SVC_GIT_HOST_DEVICE_CODE: 'from-elsewhere' };
    const pending = await link([], { env });
    expect([pending.exit, pending.err.includes('not yet approved')]).toEqual([11, true]);
    // A poll too soon after the last one, by either command, waits.
    change({ next_poll_at: new Date(Date.now() + 300).toISOString() });
    const again = await link(['--device-code', 'from-elsewhere']);
    expect([again.exit, again.err.includes('Waiting 1s for the polling interval')]).toEqual([0, true]);
    expect([host.polledCodes, host.issued]).toEqual([['from-elsewhere', 'from-elsewhere'], 0]);
  });

  test('in the environment is overridden by --resume-last', async () => {
    await link();
    const env = { SVC_GIT_HOST_DEVICE_CODE: 'left over' };
    const ran = await link(['--resume-last'], { env });
    expect([ran.exit, host.polledCodes]).toEqual([0, [secretCode]]);
    const both = await link(['--resume-last', '--device-code', 'abc'], { env });
    expect([both.exit, both.err.includes('cannot be combined')]).toEqual([2, true]);
  });

  test('that is unknown is not reported as pending', async () => {
    host.polls = ['foreign'];
    for (const wait of [[], ['--wait-approval', '6s']]) {
      const ran = await link(['--device-code', 'from-elsewhere', ...wait]);
      expect([ran.exit, ran.err.includes('not yet approved')]).toEqual([5, false]);
      expect(ran.err).toContain('svc git-host accounts list');
    }
  });

  test('that is malformed is a usage error, and is not printed', async () => {
    const ran = await link(['--device-code', 'a secret with spaces']);
    expect([ran.exit, ran.err.includes('a secret'), server.seen]).toEqual([2, false, []]);
  });
});

describe('the stored code', () => {
  test.each([
    ['is no JSON', () => writeFileSync(file(), '{"device_code":')],
    ['is empty', () => writeFileSync(file(), '')],
    ['is a list', () => writeFileSync(file(), '[1]')],
    ['lacks a field', () => change({ next_poll_at: undefined })],
    ['holds a wrong type', () => change({ device_code: 7 })],
    ['is that of another server', () => change({ base_url: 'https://other.example' })],
    ['is that of another profile', () => change({ profile: 'other' })],
    ['is that of another tenant', () => change({ tenant: 'other' })],
    ['is too large', () => change({ more: 'x'.repeat(70_000) })],
    ['is open to others', () => chmodSync(file(), 0o644)],
    ['lies in a folder that others write', () => chmodSync(folder(), 0o777)],
  ])('that %s is ignored with a notice', async (_, spoil) => {
    await link();
    askable();
    spoil();
    const ran = await link(['--resume-last']);
    expect([ran.exit, host.polledCodes, ran.err.includes('ignored')]).toEqual([5, [], true]);
    expect(ran.err).not.toContain(secretCode);
  });

  test('is neither read nor written through a symbolic link', async () => {
    await link();
    askable();
    const path = file();
    const away = join(newFolder(), 'away.json');
    writeFileSync(away, readFileSync(path), { mode: 0o600 });
    rmSync(path);
    symlinkSync(away, path);
    const before = readFileSync(away, 'utf8');
    const read = await link(['--resume-last']);
    expect([read.exit, read.err.includes('is a symbolic link'), host.polledCodes]).toEqual([5, true, []]);
    const wrote = await link();
    expect([wrote.exit, wrote.err.includes('The code is not stored')]).toEqual([11, true]);
    expect(readFileSync(away, 'utf8')).toBe(before);
  });

  test('is not written to a folder that is a symbolic link', async () => {
    const away = newFolder();
    mkdirSync(dir, { recursive: true });
    symlinkSync(away, folder());
    const ran = await link();
    expect([ran.exit, ran.err.includes('The code is not stored'), readdirSync(away)]).toEqual([11, true, []]);
    expect((await link(['--resume-last'])).exit).toBe(5);
  });

  test('that cannot be stored is reported, and the command continues', async () => {
    const blocked = join(newFolder(), 'a-file');
    writeFileSync(blocked, '');
    const env = { SVC_CONFIG_DIR: join(blocked, 'config') };
    const ran = await link([], { env });
    expect([ran.exit, ran.err.includes(shown), ran.err.includes('The code is not stored')]).toEqual([
      11,
      true,
      true,
    ]);
    expect((await link([], { env, terminal: true })).exit).toBe(0);
  });

  test('of a newer link replaces the older one completely', async () => {
    await Promise.all(Array.from({ length: 5 }, () => link()));
    expect([files().length, stored().device_code]).toEqual([1, secretCode]);
  });
});
