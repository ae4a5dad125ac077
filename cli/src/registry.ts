import type { Command } from './command.ts';

/**
 * Every command by the words typed. Its file is `commands/<words>.ts`, and only the one that runs is loaded; a
 * test compares this list, the files and the words they declare.
 */
export const commandWords: readonly string[] = [
  'login',
  'logout',
  'whoami',
  'tenants list',
  'tenants get',
  'tenants use',
  'members list',
  'members set',
  'members remove',
  'sessions list',
  'sessions revoke',
  'pats list',
  'pats create',
  'pats revoke',
  'connectors list',
  'connectors get',
  'connectors create',
  'connectors update',
  'connectors delete',
  'presets list',
  'presets get',
  'presets create',
  'presets update',
  'presets delete',
  'grants mine',
  'grants list',
  'grants get',
  'grants create',
  'grants revoke',
  'grants scope set',
  'access check',
  'policies list',
  'policies get',
  'policies create',
  'policies update',
  'policies delete',
  'audit list',
  'completion',
  'schema',
  'exit-codes',
  'version',
];

export async function loadCommand(words: string): Promise<Command> {
  if (!isCommand(words)) throw new Error(`No command is registered as "${words}".`);
  return (await import(`./commands/${words.replaceAll(' ', '/')}.ts`)).default;
}

export function isCommand(path: string): boolean {
  return commandWords.includes(path);
}
