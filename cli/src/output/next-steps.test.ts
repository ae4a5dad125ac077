import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import { Glob } from 'bun';
import { commandWords } from '../registry.ts';
import { namedCommands } from './next-argv.ts';
import { type Credential, nextStep } from './next-steps.ts';

const codes = Object.keys(errorCodes) as ErrorCode[];
const credentials: (Credential | null)[] = [null, 'SVC_API_KEY', 'SVC_TOKEN', 'SVC_SERVICE_ACCOUNT'];

/** Every text, with the fields that a call may or may not have. */
function advices({
  app,
  connector,
}: {
  app: string | undefined;
  connector: string | undefined;
}): Set<string> {
  const texts = new Set<string>();
  const call = { app, connector, table: undefined, profile: undefined, baseUrl: undefined };
  for (const words of commandWords)
    for (const code of codes)
      for (const credential of credentials) {
        const text = nextStep(code, { ...call, words, credential });
        if (text !== undefined) texts.add(text);
      }
  return texts;
}

test('every command in the advice of an error is written with all that it requires', async () => {
  const faults: string[] = [];
  for (const connector of [undefined, 'warehouse'])
    for (const text of advices({ app: 'shop', connector }))
      for (const { argv, missing } of await namedCommands(text)) {
        const left = missing.filter((part) => !argv.includes(part));
        if (left.length > 0) faults.push(`svc ${argv.join(' ')}: ${left.join(', ')}`);
      }
  expect([...new Set(faults)]).toEqual([]);
});

test('advice about an app that is not known is no command to run', async () => {
  for (const text of advices({ app: undefined, connector: undefined }))
    for (const { argv, missing } of await namedCommands(text))
      if (argv.includes('<app>')) expect(missing).not.toEqual([]);
});

/** In sources, with what a template adds. A name alone is a mention, not a command to run. */
const templates: readonly (readonly [RegExp, string])[] = [
  [/\$\{of\}/g, '--app <app>'],
  [/\$\{releaseFlags\}/g, '--app <app> --release-id <id>'],
  [/\$\{scope\}/g, '--connector <connector> --preset <preset> --scope <path>'],
  [/\$\{[^}]*\}/g, '<value>'],
];

test.each(['cli/src', 'server/src', 'console/src'])(
  'commands in texts of %s that have arguments have all of them',
  async (folder) => {
    const faults: string[] = [];
    const root = join(import.meta.dir, '../../..', folder);
    for (const path of new Glob('**/*.{ts,tsx}').scanSync(root)) {
      // Its marker in the description of a repository is not advice.
      if (path.endsWith('bootstrap/rules.ts')) continue;
      if (/\.(?:test|proof)\.tsx?$|testing/.test(path)) continue;
      const source = (await Bun.file(join(root, path)).text()).replaceAll(/['`]\s*\+\s*['`]/g, '');
      for (const [literal] of source.matchAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`|"[^"\n]*"/g)) {
        // After `--` the words of another command follow.
        if (!literal.includes('svc ') || literal.includes(' -- ')) continue;
        const text = templates.reduce((all, [from, to]) => all.replaceAll(from, to), literal.slice(1, -1));
        for (const { argv, missing } of await namedCommands(text)) {
          const left = missing.filter((part) => !argv.includes(part));
          if (left.length > 0 && argv.some((word) => /^(?:-|<)/.test(word)))
            faults.push(`${path}: svc ${argv.join(' ')} lacks ${left.join(', ')}`);
        }
      }
    }
    expect(faults).toEqual([]);
  },
);
