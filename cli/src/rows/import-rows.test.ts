import { beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../../../scripts/patience.ts';
import { problem } from '../../testing/answers.ts';
import { newRowsState } from '../../testing/fake-rows.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { newFolder, type RunOptions } from '../../testing/run-svc.ts';

const server = useFakeServer();

let folder: string;
let config: string;
beforeEach(() => {
  server.rows = { ...newRowsState(), rows: [] };
  folder = newFolder();
  config = newFolder();
});

async function file(name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await Bun.write(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

function svc(args: readonly string[], options: RunOptions = {}) {
  const env = { SVC_CONFIG_DIR: config, ...options.env };
  return server.svc(['rows', 'import', 'pets', '--app', 'shop', ...args], { ...options, env });
}

const numbers = (count: number) => Array.from({ length: count }, (_, at) => `{"n":${at + 1}}`);
const stored = () => server.rows.rows.map(({ n }) => n);
const counted = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
const states = () =>
  readdirSync(join(config, 'imports')).map((name) =>
    JSON.parse(readFileSync(join(config, 'imports', name), 'utf8')),
  );
const unfinished = () => states().filter(({ finished_at }) => finished_at === null);
const keys = () => server.seen.map(({ headers }) => headers.get('idempotency-key'));

test('sends batches in order, each with a key of its own, and leaves nothing unfinished', async () => {
  const path = await file('pets.jsonl', numbers(10));
  const ran = await svc(['--from-file', path, '--batch-size', '4', '--execute', '--json']);
  expect([ran.exit, ran.err]).toEqual([0, '']);
  expect(JSON.parse(ran.out)).toMatchObject({ inserted: 10, skipped: 0, batches: 3, errors: [] });
  expect([stored(), new Set(keys()).size]).toEqual([counted(10), 3]);
  expect(server.seen[0]?.headers.get('content-type')).toBe('application/x-ndjson');
  expect(unfinished()).toEqual([]);
});

test('a preview sends the first batch as a dry run, reads the rest, and stores nothing', async () => {
  const path = await file('pets.jsonl', numbers(10));
  const ran = await svc(['--from-file', path, '--batch-size', '4', '--json']);
  const { dry_run, plan } = JSON.parse(ran.out);
  expect([ran.exit, dry_run, plan.operation, plan.changes[0].after]).toEqual([0, true, 'rows.import', 10]);
  expect(plan.warnings.join()).toContain('first 4 lines');
  expect([server.seen.length, server.seen[0]?.query.get('dry_run'), stored()]).toEqual([1, 'true', []]);
  const people = await svc(['--from-file', path]);
  expect(people.out).toContain('--execute');
  const bad = await svc([
    '--from-file',
    await file('bad.jsonl', [...numbers(9), 'no json']),
    '--batch-size',
    '4',
  ]);
  expect([bad.exit, bad.err.includes('line 10')]).toEqual([7, true]);
});

test('--plan rejects a file that has changed since the preview', async () => {
  const path = await file('pets.jsonl', numbers(3));
  const { plan } = JSON.parse((await svc(['--from-file', path, '--json'])).out);
  await file('pets.jsonl', numbers(4));
  const stale = await svc(['--from-file', path, '--execute', '--plan', plan.fingerprint]);
  expect([stale.exit, stored()]).toEqual([15, []]);
  await file('pets.jsonl', numbers(3));
  expect((await svc(['--from-file', path, '--execute', '--plan', plan.fingerprint])).exit).toBe(0);
});

describe('a bad line', () => {
  test('stops the import before its batch, with its line in the file; --resume continues after the correction', async () => {
    const lines = [...numbers(6), '', '{"n":7,"bad":1}', ...numbers(10).slice(7)];
    const path = await file('pets.jsonl', lines);
    const args = ['--from-file', path, '--batch-size', '3', '--execute'];
    const stopped = await svc([...args, '--json']);
    expect([stopped.exit, stored()]).toEqual([7, counted(6)]);
    const problem = JSON.parse(stopped.err);
    expect(problem.errors).toEqual([
      { line: 8, column: 'bad', code: 'unknown_column', detail: 'is unknown' },
    ]);
    expect([problem.code, problem.next.why.includes('--resume')]).toEqual(['validation_failed', true]);
    expect(unfinished()).toHaveLength(1);
    const [name] = readdirSync(join(config, 'imports'));
    expect(statSync(join(config, 'imports', name!)).mode & 0o777).toBe(0o600);

    const again = await svc(args);
    expect([again.exit, again.err.includes('import_unfinished'), stored().length]).toEqual([6, true, 6]);
    await file('pets.jsonl', lines.with(7, '{"n":7}'));
    const resumed = await svc([...args, '--resume', '--json']);
    expect([resumed.exit, JSON.parse(resumed.out)]).toMatchObject([
      0,
      { inserted: 4, total: { inserted: 10 } },
    ]);
    expect([stored(), unfinished()]).toEqual([counted(10), []]);
  });

  test('in the first batch leaves nothing to resume', async () => {
    const path = await file('pets.jsonl', ['{"bad":1}', ...numbers(2)]);
    const ran = await svc(['--from-file', path, '--execute']);
    expect([ran.exit, ran.err.includes('Nothing was stored'), states()]).toEqual([7, true, []]);
  });

  test('is skipped and written to a file with --skip-bad-lines', async () => {
    const lines = numbers(12).map((line, at) => (at % 5 === 1 ? `{"n":${at + 1},"bad":1}` : line));
    const bad = join(folder, 'bad.jsonl');
    const args = ['--from-file', await file('pets.jsonl', lines), '--batch-size', '4', '--execute', '--json'];
    const ran = await svc([...args, '--skip-bad-lines', '--errors-to', bad]);
    const result = JSON.parse(ran.out);
    expect([ran.exit, result.inserted, result.skipped]).toEqual([0, 9, 3]);
    expect(result.errors.map(({ line }: { line: number }) => line)).toEqual([2, 7, 12]);
    expect(stored()).toEqual([1, 3, 4, 5, 6, 8, 9, 10, 11]);
    expect(readFileSync(bad, 'utf8')).toBe('{"n":2,"bad":1}\n{"n":7,"bad":1}\n{"n":12,"bad":1}\n');
  });

  test('ends the import if there are more than --max-bad-lines', async () => {
    const path = await file('pets.jsonl', Array(5).fill('{"bad":1}'));
    const ran = await svc(['--from-file', path, '--execute', '--skip-bad-lines', '--max-bad-lines', '4']);
    expect([ran.exit, ran.err.includes('--max-bad-lines'), stored()]).toEqual([7, true, []]);
  });
});

test('read-only columns are dropped with a note, so that an export can be imported', async () => {
  server.rows.readOnly = ['created_at', 'updated_at'];
  const line = '{"n":1,"created_at":"a","big":12345678901234567890,"updated_at":"b"}';
  const path = await file('pets.jsonl', [line]);
  expect((await svc(['--from-file', path])).out).toContain('created_at and updated_at');
  const ran = await svc(['--from-file', path, '--execute', '--json']);
  expect([ran.exit, JSON.parse(ran.out).ignored_columns]).toEqual([0, ['created_at', 'updated_at']]);
  expect(server.seen.at(-1)?.body).toBe('{"n":1,"big":12345678901234567890}\n');
});

describe('when the server', () => {
  /** Replaces the answers to the numbered batches, before or after they are stored. */
  function disturb(at: number, how: 'before' | 'after', answer: () => Response): void {
    let batches = 0;
    server.intercept = (_, seen) => {
      batches += 1;
      if (batches !== at) return undefined;
      server.intercept = undefined;
      if (how === 'before') return answer();
      const { body, headers } = seen;
      return fetch(server.url + seen.path, { method: 'POST', body, headers }).then(answer);
    };
  }

  test('limits the rate, the import waits as long as requested', async () => {
    disturb(2, 'before', () => problem('rate_limited', {}, { 'retry-after': '1' }));
    const began = performance.now();
    const path = await file('pets.jsonl', numbers(4));
    expect((await svc(['--from-file', path, '--batch-size', '2', '--execute'])).exit).toBe(0);
    expect([stored(), performance.now() - began >= 1000]).toEqual([counted(4), true]);
  });

  test('limits the rate for longer than --timeout, the import exits with 8 and prints how long to wait', async () => {
    server.intercept = () => problem('rate_limited', {}, { 'retry-after': '42' });
    const path = await file('pets.jsonl', numbers(4));
    const ran = await svc(['--from-file', path, '--execute', '--timeout', `${patientMs(200)}ms`]);
    expect([ran.exit, ran.err.includes('42 s')]).toEqual([8, true]);
  });

  test.each(['not_found', 'validation_failed', 'unsupported_media_type'] as const)(
    'refuses the first batch with %s, no message suggests --resume',
    async (code) => {
      server.intercept = () => problem(code);
      const ran = await svc(['--from-file', await file('pets.jsonl', numbers(4)), '--execute']);
      expect([
        ran.err.includes(`(${code})`),
        ran.err.includes('Next: '),
        ran.err.includes('--resume'),
      ]).toEqual([true, true, false]);
    },
  );

  test('fails to respond after storing a batch, the same key stores it once', async () => {
    disturb(2, 'after', () => problem('unavailable'));
    const path = await file('pets.jsonl', numbers(6));
    const ran = await svc(['--from-file', path, '--batch-size', '2', '--execute', '--json']);
    expect([ran.exit, JSON.parse(ran.out).inserted, stored()]).toEqual([0, 6, counted(6)]);
  });

  test('fails after storing a batch, --resume neither loses nor doubles a row', async () => {
    disturb(2, 'after', () => problem('internal'));
    const args = ['--from-file', await file('pets.jsonl', numbers(7)), '--batch-size', '2', '--execute'];
    const failed = await svc(args);
    expect([failed.exit, failed.err.includes('--resume')]).toEqual([13, true]);
    // Another batch size does not matter: the batch in flight keeps its lines.
    const resumed = await svc([...args, '--batch-size', '3', '--resume', '--json']);
    expect([resumed.exit, JSON.parse(resumed.out).total.inserted, stored()]).toEqual([0, 7, counted(7)]);
  });

  test('is still storing the batch, the request is repeated with the same key', async () => {
    disturb(1, 'after', () => problem('idempotency_in_progress'));
    const path = await file('pets.jsonl', numbers(2));
    const ran = await svc(['--from-file', path, '--execute', '--json']);
    expect([ran.exit, JSON.parse(ran.out).inserted, stored()]).toEqual([0, 2, counted(2)]);
    expect(new Set(keys()).size).toBe(1);
  });

  test('does not report whether the batch was stored, it stays in flight with its key', async () => {
    disturb(1, 'after', () => problem('idempotency_mismatch'));
    const args = ['--from-file', await file('pets.jsonl', numbers(2)), '--execute'];
    const failed = await svc(args);
    expect(failed.exit).toBe(7);
    expect(unfinished()[0].under_way).toMatchObject({ records: 2, key: keys()[0] });
    expect((await svc([...args, '--resume'])).exit).toBe(0);
    expect([stored(), new Set(keys()).size]).toEqual([counted(2), 1]);
  });

  test('is unreachable, nothing is started', async () => {
    const path = await file('pets.jsonl', numbers(2));
    const ran = await svc(['--from-file', path, '--execute'], {
      env: { SVC_BASE_URL: 'http://127.0.0.1:9' },
    });
    expect(ran.exit).toBe(12);
  });
});

describe('--resume', () => {
  async function interrupted(lines: readonly string[]): Promise<string[]> {
    const args = ['--from-file', await file('pets.jsonl', lines), '--batch-size', '2', '--execute'];
    let batches = 0;
    let stop = () => {};
    server.intercept = () => {
      batches += 1;
      if (batches === 2) stop();
      return undefined;
    };
    const ran = await svc(args, { interrupt: (callback) => (stop = callback) });
    server.intercept = undefined;
    expect([ran.exit, ran.err.includes('--resume')]).toEqual([130, true]);
    return args;
  }

  test('continues after Ctrl-C', async () => {
    const args = await interrupted(numbers(6));
    expect((await svc(args.slice(0, -1))).out).toContain('is unfinished: 2 lines are done');
    expect((await svc([...args, '--resume'])).exit).toBe(0);
    expect(stored()).toEqual(counted(6));
  });

  test('rejects a file whose stored or in-flight lines have changed', async () => {
    const args = await interrupted(numbers(6));
    await file('pets.jsonl', numbers(6).with(0, '{"n":"other"}'));
    expect((await svc([...args, '--resume'])).err).toContain('have changed');
    await file('pets.jsonl', numbers(6).with(3, '{"n":"other"}'));
    const ran = await svc([...args, '--resume']);
    expect([ran.exit, ran.err.includes('have changed')]).toEqual([6, true]);
    expect((await svc([...args, '--restart'])).exit).toBe(0);
  });

  test('rejects an import whose last key may have expired', async () => {
    const args = await interrupted(numbers(6));
    const now = new Date(Date.now() + 25 * 3_600_000);
    const ran = await svc([...args, '--resume'], { now });
    expect([ran.exit, ran.err.includes('more than a day ago')]).toEqual([6, true]);
  });

  test('does nothing for a finished import, and rejects one that was never started', async () => {
    const args = ['--from-file', await file('pets.jsonl', numbers(4)), '--execute'];
    const never = await svc([...args, '--resume']);
    expect([never.exit, never.err.includes('nothing_to_resume'), stored()]).toEqual([5, true, []]);
    expect((await svc(args)).exit).toBe(0);
    const [ended] = states();
    for (const _ of [1, 2]) {
      const again = await svc([...args, '--resume', '--json'], { now: new Date(Date.now() + 60_000) });
      expect([again.exit, JSON.parse(again.out), stored()]).toMatchObject([
        0,
        { inserted: 0, batches: 0, total: { inserted: 4, batches: 1 } },
        counted(4),
      ]);
      expect(states()).toEqual([ended]);
    }
    server.seen = [];
    const preview = await svc(['--from-file', args[1] ?? '', '--resume', '--json']);
    const { plan } = JSON.parse(preview.out);
    expect([preview.exit, plan.changes, plan.warnings, server.seen]).toEqual([
      0,
      [],
      [`This import finished at ${ended.finished_at}.`],
      [],
    ]);
    expect((await svc([...args, '--resume'])).err).toContain(plan.warnings[0]);
    expect((await svc([...args, '--resume', '--plan', plan.fingerprint])).exit).toBe(0);
    // Without --resume the file is imported again from its start.
    expect((await svc(args)).exit).toBe(0);
    expect(stored()).toHaveLength(8);
  });

  test('rejects other flags, and standard input', async () => {
    const args = await interrupted(numbers(6));
    const other = await svc([...args, '--resume', '--on-conflict', 'id', '--resolution', 'merge']);
    expect([other.exit, other.err.includes('other flags')]).toEqual([6, true]);
    expect((await svc(['--from-file', '-', '--resume', '--execute'])).exit).toBe(2);
  });
});

test('standard input is imported without a state file', async () => {
  const ran = await svc(['--from-file', '-', '--execute'], { input: numbers(3).join('\n') });
  expect([ran.exit, ran.out, stored()]).toEqual([0, '3 rows inserted.\n', counted(3)]);
});

test('CSV needs --types if only a token is given', async () => {
  const path = await file('pets.csv', ['n,name', '1,', '2,""']);
  const env = { SVC_TOKEN: undefined, SVC_API_KEY: 'svcpat_good' };
  const without = await svc(['--from-file', path, '--execute'], { env });
  expect([without.exit, without.err.includes('--types')]).toEqual([2, true]);
  const ran = await svc(['--from-file', path, '--types', 'n:int,name:text', '--execute'], { env });
  expect([ran.exit, server.rows.rows]).toEqual([
    0,
    [
      { n: 1, name: null },
      { n: 2, name: '' },
    ],
  ]);
});
