import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { UsageError } from './command.ts';
import { commands } from './commands.ts';
import { parseDuration } from './duration.ts';
import { helpText } from './help.ts';
import { parseInvocation } from './parse.ts';
import { suggest } from './suggest.ts';

const parse = (line: string) => parseInvocation(line.split(' '), commands);

function refusal(line: string): string {
  try {
    parse(line);
    return 'none';
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return `${error.message} ${error.next ?? ''}`;
  }
}

describe('a command line', () => {
  test('is read with its flags before, between and after the words', () => {
    const wanted = {
      kind: 'command',
      json: true,
      input: { tenant: 'a', user: 'b@c', role: 'none' },
    };
    for (const line of [
      'members set --tenant a --user b@c --role none --json',
      '--json members --tenant=a set --role=none --user=b@c',
    ]) {
      expect(parse(line)).toMatchObject(wanted);
    }
  });

  test('gives undefined and false for flags that are absent', () => {
    expect(parse('users create a@b')).toMatchObject({
      input: { email: 'a@b', name: undefined, 'password-stdin': false },
    });
  });

  test.each([
    ['tenant list', 'tenants list'],
    ['tenants lst', 'tenants list'],
    ['docter', 'doctor'],
    ['backup --too x', '--to'],
    ['members set --tenant a --user b --role tenant_admn', 'tenant_admin'],
  ])('with a slip, %s, is refused with what was meant', (line, meant) => {
    expect(refusal(line)).toContain(`Did you mean ${meant}?`);
  });

  test.each([
    ['tenants create', '<slug> is missing.'],
    ['tenants create a b', 'b is one argument too many.'],
    ['tenants list --yes', 'Unknown flag --yes of tenants list.'],
    ['members set --tenant a --user b', '--role is missing.'],
    ['backup --to', '--to needs a value.'],
    ['backup --to --json', '--to needs a value.'],
    ['backup --to a --to b', '--to is given twice.'],
    ['restore --from a --yes=1', '--yes takes no value.'],
    ['tenants', 'svc-admin tenants needs one of: create, update, list.'],
    ['tenants create a --max-resource-tier XXL', 'Unknown value XXL of --max-resource-tier.'],
    ['__proto__', 'Unknown command __proto__.'],
    ['tenants list --constructor', 'Unknown flag --constructor.'],
  ])('that is wrong, %s, says how', (line, said) => {
    expect(refusal(line)).toStartWith(said);
  });

  test('of any text is either understood or a usage error', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(
        ...commands.flatMap((command) => command.words.split(' ')),
        '--json',
        '--help',
        '--',
        '-',
      ),
      fc.constantFrom(
        ...commands.flatMap((command) => Object.keys(command.flags).map((flag) => `--${flag}`)),
      ),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (argv) => {
        try {
          parseInvocation(argv, commands);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
        }
      }),
    );
  });
});

test('help names every command, and for one its flags', () => {
  for (const command of commands) {
    expect(helpText([], commands)).toContain(command.words);
    const own = helpText(command.words.split(' '), commands);
    for (const flag of Object.keys(command.flags)) expect(own).toContain(`--${flag}`);
  }
});

test('durations are one number and one unit', () => {
  expect(['500ms', '6s', '10m', '1h', '0s'].map(parseDuration)).toEqual([500, 6_000, 600_000, 3_600_000, 0]);
  for (const text of ['', '1', 'h', '1d', '-1s', '1.5h', '1h30m', ' 1h', '1H', '9999999999s']) {
    expect([text, parseDuration(text)]).toEqual([text, null]);
  }
});

test('nothing is suggested for something else altogether', () => {
  expect(suggest('xyzzy', ['tenants list', 'doctor'])).toBeNull();
});
