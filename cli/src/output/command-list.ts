import type { Command, JsonSchema } from '../command.ts';
import type { Declaration } from '../framework/declaration.ts';
import { commandFlags, mustBeTyped } from '../framework/flags.ts';
import { commandWords, svc } from '../registry.ts';
import { outputSchema } from './command-schema.ts';
import { flagGrammar, type Grammar, grammars, positionalGrammar } from './grammars.ts';

interface Argument {
  name: string;
  type: string;
  required?: true;
  repeated?: true;
  values?: readonly string[];
  grammar?: Grammar;
}

export interface CommandEntry {
  command: string;
  /** `change` needs --execute; `act` starts or changes something on the server at once. */
  kind: 'read' | 'change' | 'act' | 'local';
  summary: string;
  arguments: Argument[];
  output: { type: string; fields: string[] };
}

/** All commands in short; `svc schema <command>` has the whole schema of one. */
export async function commandList(): Promise<{ commands: CommandEntry[]; grammars: typeof grammars }> {
  const commands = await Promise.all(commandWords.map(async (words) => entry(await svc.load(words))));
  return { commands, grammars };
}

async function entry(command: Command): Promise<CommandEntry> {
  return {
    command: `svc ${command.words}`,
    kind: command.kind === 'mutate' ? 'change' : command.kind,
    summary: command.summary,
    arguments: argumentsOf(command),
    output: outputOf(await outputSchema(command)),
  };
}

function argumentsOf(command: Declaration): Argument[] {
  const positionals = (command.positionals ?? []).map((positional): Argument => {
    const { name, optional, repeated, values } = positional;
    const grammar = positionalGrammar(command.words, positional);
    return {
      name: `<${name}>`,
      type: 'string',
      ...(!optional && { required: true }),
      ...(repeated && { repeated }),
      ...(values && { values }),
      ...(grammar && { grammar }),
    };
  });
  const flags = Object.entries(commandFlags(command))
    .filter(([, flag]) => flag.retired === undefined && !flag.hidden)
    .map(([name, flag]): Argument => {
      const grammar = flagGrammar(command.words, name, flag);
      return {
        name: `--${name}`,
        type: flag.type === 'list' ? 'string' : flag.type,
        ...(mustBeTyped(flag) && { required: true }),
        ...((flag.repeated || flag.type === 'list') && { repeated: true }),
        ...((flag.type === 'enum' || flag.type === 'list') && flag.values && { values: flag.values }),
        ...(grammar && { grammar }),
      };
    });
  return [...positionals, ...flags];
}

/** A page of a list is given as the list. */
function outputOf(schema: JsonSchema): CommandEntry['output'] {
  const variants = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (variants !== undefined) {
    const all = variants.map(outputOf);
    return {
      type: [...new Set(all.map(({ type }) => type))].join(' or '),
      fields: [...new Set(all.flatMap(({ fields }) => fields))],
    };
  }
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const items = (schema.items ?? properties.items?.items ?? properties.data?.items) as JsonSchema | undefined;
  if (items !== undefined)
    return { type: schema.type === 'array' ? 'array' : 'page', fields: outputOf(items).fields };
  return { type: String(schema.type ?? 'any'), fields: Object.keys(properties) };
}
