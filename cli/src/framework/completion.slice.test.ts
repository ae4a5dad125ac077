import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { newFolder, removeFolders } from '../../testing/run-svc.ts';
import { commandWords, svc } from '../registry.ts';
import { completionLines, completionScripts } from './completion.ts';

afterAll(removeFolders);

const offered = async (...typed: string[]) =>
  (await completionLines(svc, typed))
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t')[0]);

describe('candidates', () => {
  test('are the words that may come next', async () => {
    expect(await offered('gr')).toEqual(['groups', 'grants']);
    expect(await offered('grants', 's')).toEqual(['scope']);
    expect(await offered('--tenant', 'x', 'grants', 'scope', '')).toEqual(['set']);
    expect(new Set(await offered(''))).toEqual(
      new Set(commandWords.map((words) => words.split(' ')[0] ?? '')),
    );
  });

  test('of a group with a default command are its words and the arguments of that command', async () => {
    expect(await offered('apps', 'members', '')).toEqual(['list', 'add', 'remove']);
    expect(await offered('apps', 'members', '--per')).toEqual(['--per-page']);
    expect(await offered('apps', 'members', 'shop', '--per')).toEqual(['--per-page']);
    expect(await offered('apps', 'members', 'shop', '')).toEqual([]);
    expect(await offered('apps', 'inspection-consent', '--app', 'shop', '--js')).toEqual(['--json']);
  });

  test('are after a dash the flags of the command and the global ones, without retired and hidden ones', async () => {
    const flags = await offered('grants', 'list', '--');
    expect(flags).toContain('--status');
    expect(flags).toContain('--page-size');
    expect(flags).toContain('--json');
    expect(flags).not.toContain('--execute');
    expect(await offered('grants', 'revoke', '--ex')).toEqual(['--execute']);
  });

  test('are the values of an enumerated flag or positional', async () => {
    expect(await offered('grants', 'list', '--status', '')).toEqual(['active', 'revoked', 'expired']);
    expect(await offered('grants', 'list', '--status=r')).toEqual(['--status=revoked']);
    expect(await offered('-o', 'y')).toEqual(['yaml']);
    expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('are empty after an unknown word, after a free value, and after all positionals', async () => {
    expect(await offered('frob', '')).toEqual([]);
    expect(await offered('grants', 'list', '--subject', '')).toEqual([]);
    expect(await offered('completion', 'bash', '')).toEqual([]);
    expect(await offered('grants', 'get', 'x', '')).toEqual([]);
  });
});

/** Completions of bash for a line with the cursor at its end. */
function inBash(line: string): string[] {
  const bin = newFolder();
  mkdirSync(join(bin, 'in'));
  writeFileSync(
    join(bin, 'svc'),
    `#!/bin/sh\nexec ${process.execPath} ${resolve(import.meta.dir, '../main.ts')} "$@"\n`,
    { mode: 0o755 },
  );
  symlinkSync(join(bin, 'svc'), join(bin, 'in', 'svc'));
  const script = `
    eval "$(svc completion bash)"
    COMP_LINE=$1; COMP_POINT=\${#1}
    # As bash does it: words are split at blanks and at "=".
    spaced=\${COMP_LINE//=/ = }
    read -ra COMP_WORDS <<< "$spaced"
    [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
    [[ $COMP_LINE == *= ]] && true
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _svc_complete
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const ran = Bun.spawnSync(['bash', '-c', script, 'bash', line], { env });
  expect(ran.stderr.toString()).toBe('');
  return ran.stdout.toString().split('\n').filter(Boolean);
}

describe.if(Bun.which('bash') !== null)('bash', () => {
  test.each([
    ['svc gra', ['grants']],
    ['svc grants list --status ', ['active', 'revoked', 'expired']],
    ['svc grants list --status=', ['active', 'revoked', 'expired']],
    ['svc grants list --status=re', ['revoked']],
    ['svc completion z', ['zsh']],
  ])('offers for %j', (line, expected) => {
    expect(inBash(line)).toEqual(expected);
  });
});

test.each(['bash', 'zsh', 'fish'] as const)('the script for %s is valid in its shell', (shell) => {
  const path = Bun.which(shell);
  if (path === null) return;
  const checked = Bun.spawnSync([path, '-n', '/dev/stdin'], {
    stdin: Buffer.from(completionScripts[shell]),
  });
  expect(checked.stderr.toString()).toBe('');
  expect(checked.exitCode).toBe(0);
});
