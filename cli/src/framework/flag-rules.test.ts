import { describe, expect, test } from 'bun:test';
import type { Command } from '../command.ts';
import { svc } from '../registry.ts';
import type { Flags } from './declaration.ts';
import { CliError } from './errors.ts';
import { parseArgs } from './parse.ts';

const flags = {
  category: { type: 'string', summary: '' },
  'clear-category': { type: 'boolean', winsOver: ['category'], summary: '' },
  subdomain: { type: 'string', excludes: ['clear-subdomain'], summary: '' },
  'clear-subdomain': { type: 'boolean', summary: '' },
  owner: { type: 'string', requires: ['repo'], summary: '' },
  repo: { type: 'string', summary: '' },
  app: { type: 'string', requiredUnless: ['pre-create'], summary: '' },
  'pre-create': { type: 'boolean', summary: '' },
  'service-worker-allowed': { type: 'boolean', retired: 'service workers are always blocked.', summary: '' },
  visibility: { type: 'enum', values: ['a'], retired: 'it is set with apps update.', summary: '' },
  limit: { type: 'integer', winsOver: ['per-page'], summary: '' },
  'per-page': { type: 'integer', summary: '' },
} as const satisfies Flags;

const it: Command = { words: 'test', summary: '', kind: 'read', flags };

const read = (line: string, command = it) =>
  parseArgs(svc, command, line.split(' ').filter(Boolean), { env: {} });
const refusal = async (line: string, command = it) => {
  const error = await read(line, command).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(CliError);
  return String(error);
};

describe('winsOver', () => {
  test('the overridden flag is dropped with a notice', async () => {
    const { args, notices } = await read('--app a --clear-category --category x');
    expect(args.flags).toMatchObject({ 'clear-category': true, category: undefined });
    expect(notices).toEqual(['--category is ignored because --clear-category is given.']);
  });

  test('a false boolean overrides nothing', async () => {
    const { args, notices } = await read('--app a --clear-category=false --category x');
    expect([args.flags, notices]).toMatchObject([{ category: 'x' }, []]);
  });

  test('order on the line does not matter', async () => {
    expect((await read('--app a --per-page 5 --limit 3')).args.flags).toMatchObject({
      limit: 3,
      'per-page': undefined,
    });
    expect((await read('--app a --limit 3 --per-page 5')).args.flags).toMatchObject({
      limit: 3,
      'per-page': undefined,
    });
  });
});

describe('excludes, requires, required', () => {
  test('exclusive flags are rejected in either order', async () => {
    expect(await refusal('--app a --subdomain x --clear-subdomain')).toContain('cannot be combined');
    expect(await refusal('--app a --clear-subdomain --subdomain x')).toContain('cannot be combined');
    await read('--app a --subdomain x --clear-subdomain=false');
  });

  test('a flag that requires another is rejected alone', async () => {
    expect(await refusal('--app a --owner x')).toContain('--repo');
    await read('--app a --owner x --repo y');
  });

  test('a flag can be required unless another is given', async () => {
    expect(await refusal('')).toContain('--app');
    await read('--pre-create');
  });

  test('a missing required flag is reported with its possible values', async () => {
    const publish: Command = {
      ...it,
      flags: { to: { type: 'enum', values: ['few', 'many', 'all'], required: true, summary: '' } },
    };
    expect(await refusal('', publish)).toContain('--to is required. --to is few, many or all.');
  });

  test('one of several flags can be required', async () => {
    const consent: Command = {
      ...it,
      flags: {
        granted: { type: 'boolean', excludes: ['revoked'], summary: '' },
        revoked: { type: 'boolean', summary: '' },
      },
      oneRequired: [['granted', 'revoked']],
    };
    expect(await refusal('', consent)).toContain('--granted or --revoked');
    expect(await refusal('--granted=false', consent)).toContain('--granted or --revoked');
    await read('--revoked', consent);
  });
});

test('a retired flag accepts any value and is ignored with a notice', async () => {
  const { args, notices } = await read('--app a --visibility nonsense --service-worker-allowed');
  expect(args.flags).toMatchObject({ visibility: undefined, 'service-worker-allowed': undefined });
  expect(notices).toEqual([
    '--visibility is ignored: it is set with apps update.',
    '--service-worker-allowed is ignored: service workers are always blocked.',
  ]);
});
