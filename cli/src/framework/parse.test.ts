import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Command } from '../command.ts';
import { svc } from '../registry.ts';
import type { Flags, Positional } from './declaration.ts';
import { CliError } from './errors.ts';
import type { Env } from './io.ts';
import { parseArgs } from './parse.ts';

function command(
  flags: Flags,
  positionals: readonly Positional[] = [],
  more: Partial<Command> = {},
): Command {
  return { words: 'test', summary: 'A test', kind: 'read', flags, positionals, ...more };
}

const flags = {
  name: { type: 'string', summary: '' },
  on: { type: 'boolean', summary: '' },
  count: { type: 'integer', min: 1, max: 10, summary: '' },
  size: { type: 'integer', alias: ['per-page'], summary: '' },
  wait: { type: 'duration', min: '6s', max: '10m', summary: '' },
  at: { type: 'time', summary: '' },
  kind: { type: 'enum', values: ['small', 'large'], summary: '' },
  tags: { type: 'list', summary: '' },
  only: { type: 'list', values: ['read', 'write'], summary: '' },
  mask: { type: 'string', repeated: true, summary: '' },
  sort: { type: 'string', summary: '' },
  code: { type: 'string', env: 'TEST_CODE', summary: '' },
  limit: { type: 'integer', env: 'TEST_LIMIT', min: 1, summary: '' },
  colour: { type: 'string', default: 'blue', summary: '' },
} as const satisfies Flags;

async function read(tokens: string[], env: Env = {}): Promise<Record<string, unknown>> {
  const { args } = await parseArgs(svc, command(flags), tokens, { env });
  return Object.fromEntries(Object.entries(args.flags).filter(([, value]) => value !== undefined));
}

async function refusal(tokens: string[], env: Env = {}, it: Command = command(flags)): Promise<string> {
  const error = await parseArgs(svc, it, tokens, { env }).catch((cause: unknown) => cause);
  if (!(error instanceof CliError)) throw new Error(`taken: ${tokens.join(' ')}`);
  expect(error.code).toBe('usage');
  return `${error.message} ${error.next ?? ''}`;
}

describe('flags', () => {
  test('a value follows the flag or its equals sign', async () => {
    expect(await read(['--name', 'a', '--sort=b=c'])).toEqual({ name: 'a', sort: 'b=c', colour: 'blue' });
  });

  test('an empty value is a value', async () => {
    expect(await read(['--name='])).toMatchObject({ name: '' });
    expect(await read(['--name', ''])).toMatchObject({ name: '' });
  });

  test('a boolean takes a value only after an equals sign', async () => {
    expect(await read(['--on'])).toMatchObject({ on: true });
    expect(await read(['--on=false'])).toMatchObject({ on: false });
    expect(await refusal(['--on=maybe'])).toContain('true or false');
  });

  test('a value may start with a dash unless it looks like a flag', async () => {
    expect(await read(['--sort', '-name'])).toMatchObject({ sort: '-name' });
    expect(await read(['--count=-1']).catch((cause) => cause.message)).toContain('from 1 to 10');
    expect(await refusal(['--name', '--on'])).toContain('--name=--on');
    expect(await refusal(['--name', '--unknown'])).toContain('needs a value');
    expect(await refusal(['--name', '-y'])).toContain('needs a value');
    expect(await refusal(['--name'])).toContain('needs a value');
    expect(await read(['--name=--on'])).toMatchObject({ name: '--on' });
  });

  test('the last occurrence wins, also by an alias, unless the flag is repeatable', async () => {
    expect(await read(['--size', '1', '--per-page', '2'])).toMatchObject({ size: 2 });
    expect(await read(['--mask', 'a', '--mask=b,c'])).toMatchObject({ mask: ['a', 'b,c'] });
  });

  test('lists are split at commas, add up, and can be emptied', async () => {
    expect(await read(['--tags', 'a, b', '--tags=c'])).toMatchObject({ tags: ['a', 'b', 'c'] });
    expect(await read(['--tags='])).toMatchObject({ tags: [] });
    expect(await refusal(['--tags', 'a,,b'])).toContain('empty entry');
    expect(await refusal(['--only', 'read,run'])).toContain('read or write');
  });

  test('numbers, durations, times and enumerations are checked', async () => {
    expect(await read(['--count', '10', '--wait', '6s', '--kind', 'small'])).toMatchObject({
      count: 10,
      wait: 6000,
      kind: 'small',
    });
    for (const count of ['0', '11', '1.5', '1e1', '0x1', '', ' 1', '٣']) await refusal([`--count=${count}`]);
    for (const wait of ['5s', '11m', '6', 'soon']) await refusal(['--wait', wait]);
    expect(await refusal(['--kind', 'Large'])).toContain('Did you mean large');
    expect(await read(['--at', '2027-01-31T12:00:00+09:00'])).toMatchObject({
      at: '2027-01-31T12:00:00+09:00',
    });
    for (const at of ['2027-01-31', '2027-02-31T12:00:00Z', '2027-01-31T12:00:00', 'now'])
      await refusal(['--at', at]);
  });

  test('the environment is used if the flag is absent, with the same checks', async () => {
    expect(await read([], { TEST_CODE: 'x', TEST_LIMIT: '5' })).toMatchObject({ code: 'x', limit: 5 });
    expect(await read(['--code', 'y'], { TEST_CODE: 'x' })).toMatchObject({ code: 'y' });
    expect(await read([], { TEST_CODE: '' })).not.toHaveProperty('code');
    expect(await refusal([], { TEST_LIMIT: 'many' })).toContain('TEST_LIMIT');
  });

  test('an unknown flag is rejected with a suggestion', async () => {
    expect(await refusal(['--nmae', 'x'])).toContain('--name');
    expect(await refusal(['--tennant', 'x'])).toContain('--tenant');
    expect(await refusal(['-x'])).toContain('-x');
  });
});

describe('positionals', () => {
  const it = command({ on: { type: 'boolean', summary: '' } }, [
    { name: 'first', summary: 'the first' },
    { name: 'rest', summary: 'the others', optional: true, repeated: true },
  ]);

  test('may be between flags and after --', async () => {
    const { args } = await parseArgs(svc, it, ['a', '--on', 'b', '--', '--c', '-'], { env: {} });
    expect(args.positionals).toMatchObject({ first: 'a', rest: ['b', '--c', '-'] });
  });

  test('must be present, not empty, and not too many', async () => {
    expect(await refusal([], {}, it)).toContain('<first>');
    expect(await refusal([''], {}, it)).toContain('empty');
    expect(await refusal(['a', 'b'], {}, command({}, [{ name: 'only', summary: '' }]))).toContain('too many');
  });

  test('with enumerated values are checked', async () => {
    const shell = command({}, [{ name: 'shell', summary: '', values: ['bash', 'zsh'] }]);
    expect(await refusal(['fish'], {}, shell)).toContain('bash, zsh');
  });
});

describe('global flags', () => {
  test('may be anywhere and are separate from those of the command', async () => {
    const { args, globals } = await parseArgs(
      svc,
      command(flags),
      ['--name', 'n', '-y', '--tenant=t', '-ojson'],
      { env: {} },
    );
    expect(globals).toMatchObject({ yes: true, tenant: 't', output: 'json' });
    expect(args.flags).not.toHaveProperty('tenant');
  });

  test("a command's own flag of the same name hides the global one", async () => {
    const own = command({ tenant: { type: 'list', summary: 'Several' } });
    const { args, globals } = await parseArgs(svc, own, ['--tenant', 'a,b'], { env: { SVC_TENANT: 'env' } });
    expect(args.flags).toMatchObject({ tenant: ['a', 'b'] });
    expect(globals).not.toHaveProperty('tenant');
  });
});

test('the parser fails with a usage error only', async () => {
  const word = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.constantFrom(
      '--name',
      '--on',
      '--count',
      '--tags=a',
      '--',
      '-y',
      '-o',
      '--json',
      '--=',
      '--on=',
      '-',
      '=x',
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (tokens) => {
      const outcome = await parseArgs(
        svc,
        command(flags, [{ name: 'a', summary: '', optional: true, repeated: true }]),
        tokens,
        { env: {} },
      ).catch((cause: unknown) => cause);
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(CliError);
    }),
    { numRuns: 300 },
  );
});

test('flags and positionals keep any text unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string({ minLength: 1 }), async (value, positional) => {
      const it = command(flags, [{ name: 'a', summary: '' }]);
      const { args } = await parseArgs(svc, it, [`--name=${value}`, '--', positional], { env: {} });
      expect([args.flags, args.positionals]).toMatchObject([{ name: value }, { a: positional }]);
    }),
  );
});
