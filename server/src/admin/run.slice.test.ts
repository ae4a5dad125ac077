import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { svcAdmin } from './commands.ts';
import { admin } from './testing.ts';

// No test of this file reaches a command: the configuration is invalid.
const environment = { SVC_PORT: 'none' };
const run = (line: string) => admin(environment, line.split(' '));
const refusal = async (line: string) => {
  const { exit, err } = await run(line);
  const { code, detail, next } = JSON.parse(err);
  expect([line, exit, code]).toEqual([line, 2, 'usage']);
  return `${detail} ${next ?? ''}`;
};

describe('a command line', () => {
  test.each([
    'members set --tenant a --user b@c --role none',
    'members --tenant=a set --role=none --user=b@c',
    '--tenant a members --user b@c set --role none',
  ])('is parsed with flags before, between and after the words: %s', async (line) => {
    expect(JSON.parse((await run(line)).err).code).toBe('configuration');
  });

  test.each([
    ['tenant list', 'svc-admin tenants'],
    ['tenants lst', 'svc-admin tenants list'],
    ['docter', 'svc-admin doctor'],
    ['backup --too x', '--to'],
    ['members set --tenant a --user b --role tenant_admn', 'tenant_admin'],
  ])('with a typing error, %s, is rejected with a suggestion', async (line, meant) => {
    expect(await refusal(line)).toContain(`Did you mean ${meant}?`);
  });

  test.each([
    ['tenants create', '<slug> is missing'],
    ['tenants create a b', '"b" is one argument too many.'],
    ['tenants list --yes', '--yes is not a flag of this command.'],
    ['members set --tenant a --user b', '--role is required.'],
    ['backup --to', '--to needs a value.'],
    ['backup --to a --to b', '--to is given twice.'],
    ['restore --from a --yes=1', '--yes takes true or false'],
    ['tenants', 'svc-admin tenants needs one of: create, update, list.'],
    ['tenants create a --max-resource-tier XXL', '--max-resource-tier takes'],
    ['tokens issue --user a --ttl soon', '--ttl takes a duration'],
    ['__proto__', '"__proto__" is not a command.'],
    ['tenants list --constructor', '--constructor is not a flag'],
  ])('that is invalid, %s, reports why', async (line, message) => {
    expect(await refusal(line)).toStartWith(message);
  });

  test('of any text is either parsed or a usage error', async () => {
    const words = svcAdmin.commands.flatMap((name) => name.split(' '));
    const flags = Object.keys(svcAdmin.wordFlags ?? {}).map((name) => `--${name}`);
    const word = fc.oneof(fc.string(), fc.constantFrom(...words, ...flags, '-'));
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (argv) => {
        const { exit, err } = await admin(environment, argv);
        // `doctor` reports problems as its result.
        if (exit !== 0 && argv[0] !== 'doctor')
          expect(['usage', 'configuration', 'not_found']).toContain(JSON.parse(err).code);
      }),
    );
  });
});

test('help lists every command, and the flags of each', async () => {
  const { commands } = (await run('--help')).json;
  expect(commands.map(({ command }: { command: string }) => command)).toEqual([...svcAdmin.commands]);
  for (const words of svcAdmin.commands) {
    const { json } = await run(`${words} --help`);
    const { flags } = await svcAdmin.load(words);
    expect(json.commands[0].flags.map(({ flag }: { flag: string }) => flag)).toEqual(
      Object.keys(flags ?? {}).map((name) => `--${name}`),
    );
  }
});
