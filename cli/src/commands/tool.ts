import { exitCodes } from '@svc/contract/exit-codes.ts';
import { defineCommand, objectSchema } from '../command.ts';
import type { Ctx } from '../context.ts';
import { completionScripts, shells } from '../framework/completion.ts';
import { sanitize } from '../framework/text.ts';
import { version, versionLine } from '../version.ts';

export const completionCommand = defineCommand({
  words: 'completion',
  summary: 'Print the completion script for a shell',
  kind: 'local',
  positionals: [{ name: 'shell', summary: 'bash, zsh or fish', values: shells }],
  output: objectSchema({ shell: 'string', script: 'string' }),
  run: async (_ctx, { positionals }) => {
    const shell = shells.find((it) => it === positionals.shell) ?? 'bash';
    const script = completionScripts[shell];
    return { value: { shell, script }, text: () => script };
  },
  examples: { bash: 'Add eval "$(svc completion bash)" to ~/.bashrc' },
});

export const schemaCommand = defineCommand({
  words: 'schema',
  summary: "List all commands, or print the JSON Schema of a command's input and output",
  description:
    'Without words: every command, as JSON unless stdout is a terminal, with its kind (read; change, which previews without --execute; local), arguments ' +
    'and the fields of its output, and the grammars of values as patterns of JSON Schema.',
  kind: 'local',
  positionals: [{ name: 'words', summary: 'Words of the command', optional: true, repeated: true }],
  output: {
    anyOf: [
      objectSchema({ command: 'string', input: 'object', output: 'object', preview: 'object' }, ['preview']),
      objectSchema({
        commands: {
          type: 'array',
          items: objectSchema({
            command: 'string',
            kind: 'string',
            summary: 'string',
            arguments: { type: 'array', items: objectSchema({ name: 'string', type: 'string' }) },
            output: objectSchema({ type: 'string', fields: { type: 'array', items: { type: 'string' } } }),
          }),
        },
        grammars: 'object',
      }),
    ],
  },
  run: async (ctx, { positionals }) => {
    if (positionals.words.length === 0) {
      const value = await (await import('../output/command-list.ts')).commandList();
      if (!(await isForPeople(ctx))) return { value, text: () => `${JSON.stringify(value, null, 2)}\n` };
      return { value: value.commands, view: { columns: ['command', 'kind', 'summary'] } };
    }
    const found = await ctx.findCommand(positionals.words);
    const { commandSchema } = await import('../output/command-schema.ts');
    const value = await commandSchema(found);
    return { value, text: () => `${JSON.stringify(value, null, 2)}\n` };
  },
  examples: {
    '': 'List all commands: a table on a terminal, otherwise JSON',
    'grants create': 'Print the schema of grants create',
  },
});

/** A table on a terminal, or where one is asked for. */
async function isForPeople({ io, globals }: Ctx): Promise<boolean> {
  const { format, wide, columns } = globals;
  if (format !== 'table') return format === 'csv';
  return wide !== undefined || columns !== undefined || io.isTerminal('stdout');
}

export const exitCodesCommand = defineCommand({
  words: 'exit-codes',
  summary: 'List the exit codes and their meanings',
  kind: 'local',
  output: {
    type: 'array',
    items: objectSchema({ code: 'integer', meaning: 'string' }),
  },
  view: { columns: ['code', 'meaning'] },
  run: async () => ({
    value: Object.entries(exitCodes).map(([code, meaning]) => ({ code: Number(code), meaning })),
  }),
  examples: { '': 'List the exit codes' },
});

export const versionCommand = defineCommand({
  words: 'version',
  summary: 'Print the versions of svc and of the server',
  description: 'Waits at most 2 s for the server to answer. svc --version is short for svc version --client.',
  kind: 'local',
  output: objectSchema(
    {
      version: 'string',
      runtime: 'string',
      server: objectSchema({ base_url: 'string', version: { type: ['string', 'null'] } }),
    },
    ['runtime', 'server'],
  ),
  flags: { client: { type: 'boolean', summary: 'Only the version of svc, without a request' } },
  run: async (ctx, { flags }) => {
    const runtime = `bun ${Bun.version}`;
    const server = flags.client ? null : await serverVersion(ctx);
    const value = {
      version,
      ...(ctx.globals.verbose && { runtime }),
      ...(server !== null && { server }),
    };
    const shown = server === null ? '' : `server ${server.version ?? 'unknown'} at ${server.base_url}\n`;
    return {
      value,
      text: () => `${versionLine}${shown}${ctx.globals.verbose ? `${runtime}\n` : ''}`,
    };
  },
  examples: {
    '': 'Print both versions',
    '--client': 'Print the version of svc',
    '--verbose': 'Include the version of the runtime',
  },
});

const serverMsMax = 2000;

async function serverVersion(ctx: Ctx): Promise<{ base_url: string; version: string | null } | null> {
  const { versionPath } = await import('@svc/contract/limits.ts');
  // Without a readable configuration the server is unknown; the version of svc is not.
  const session = await ctx.session().catch((cause: Error) => ctx.note(cause.message));
  if (!session) return null;
  const { baseUrl: base_url } = session;
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(serverMsMax)]);
  try {
    const answer = await ctx.io.fetch(`${base_url}${versionPath}`, { signal, redirect: 'manual' });
    const found: unknown = answer.ok ? Reflect.get(Object(await answer.json()), 'version') : null;
    const theirs = typeof found === 'string' ? sanitize(found) : null;
    if (theirs === null)
      ctx.note(`The server at ${base_url} does not report its version; it may be older than svc.`);
    else if (theirs !== version)
      ctx.note(
        `svc ${version} and the server ${theirs} differ. Install that of the server: curl -fsSL ${base_url}/install | sh`,
      );
    return { base_url, version: theirs };
  } catch {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    ctx.note(`The server at ${base_url} does not answer.`);
    return { base_url, version: null };
  }
}
