import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../support/server.ts';

const program = '/usr/bin/strace';
export const hasStrace = existsSync(program);

/** The server under strace, which records every program that is started. The server keeps its own process id. */
export function straceCommand(file: string): string[] {
  const how = [
    '-D',
    '-f',
    '-qq',
    '--seccomp-bpf',
    '-e',
    'trace=execve',
    '-e',
    'signal=none',
    '-xx',
    '-s',
    '65536',
  ];
  return [program, ...how, '-o', file, process.execPath, join(root, 'server/src/main.ts')];
}

export interface Started {
  program: string;
  argv: string[];
  /** False if the program was not found. */
  isStarted: boolean;
}

export function readStartedPrograms(file: string): Started[] {
  return readFileSync(file, 'latin1')
    .split('\n')
    .flatMap((line) => {
      const [, path, list, rest] = /^\d+ +execve\("([^"]*)", \[([^\]]*)\](.*)$/.exec(line) ?? [];
      if (path === undefined || list === undefined) return [];
      const argv = [...list.matchAll(/"([^"]*)"(\.\.\.)?/g)];
      if (argv.some(([, , more]) => more)) throw new Error('An argument was longer than what is traced.');
      const isStarted = !/ = -1 /.test(rest ?? '');
      return [{ program: textOf(path), argv: argv.map(([, hex = '']) => textOf(hex)), isStarted }];
    });
}

const textOf = (hex: string) => Buffer.from(hex.replaceAll('\\x', ''), 'hex').toString();

/**
 * A forbidden position of such a value in a program's arguments; null: none. Allowed are an argument
 * after `--`, and an argument of a shell beside its fixed script.
 */
export function findUnsafePosition({ argv }: Started, isSuch: (argument: string) => boolean): string | null {
  for (const [at, argument] of argv.entries()) {
    if (!isSuch(argument)) continue;
    const before = argv.slice(0, at);
    const texts = before.flatMap((each, k) => (/^-\w*c$/.test(each) && isShell(argv[k - 1]) ? [k + 1] : []));
    if (texts.includes(at)) return `in the text of a shell: ${argument}`;
    if (texts.length > 0 || before.includes('--') || before.includes('--end-of-options')) continue;
    return `as argument ${at} of ${argv.join(' ')}`;
  }
  return null;
}

const isShell = (name = '') => /^(?:ba|da|z|k|a)?sh$/.test(basename(name));
