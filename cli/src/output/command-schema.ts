import { contract } from '@svc/contract/all.ts';
import { z } from 'zod';
import type { Command, JsonSchema } from '../command.ts';
import type { Flag, Positional } from '../framework/declaration.ts';
import { commandFlags, flagText, mustBeTyped } from '../framework/flags.ts';
import { flagGrammar, type Grammar, grammars, positionalGrammar } from './grammars.ts';

/** This file loads every schema of the contract: only for `svc schema`, the reference page and tests. */
export interface CommandSchema {
  command: string;
  input: JsonSchema;
  output: JsonSchema;
  preview?: JsonSchema;
}

export async function commandSchema(command: Command): Promise<CommandSchema> {
  return {
    command: `svc ${command.words}`,
    input: inputSchema(command),
    output: await outputSchema(command),
    ...(command.kind === 'mutate' && { preview: previewSchema }),
  };
}

export async function outputSchema(command: Command): Promise<JsonSchema> {
  const { output } = command;
  if (output !== undefined) {
    const schema = typeof output === 'function' ? await output() : output;
    return schema instanceof z.ZodType ? jsonSchema(schema) : schema;
  }
  const entry = contract.find(({ endpoint }) => endpoint.id === command.endpoint?.id);
  if (entry === undefined)
    throw new Error(`svc ${command.words} has neither an output nor an endpoint of the contract.`);
  if (entry.endpoint.status === 204) return deletedSchema;
  return jsonSchema(entry.shape.answer);
}

function jsonSchema(schema: z.ZodType): JsonSchema {
  return schema.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

function inputSchema(command: Command): JsonSchema {
  const positionals: readonly Positional[] = command.positionals ?? [];
  const flags = Object.entries(commandFlags(command)).filter(([, flag]) => flag.retired === undefined);
  return {
    type: 'object',
    properties: Object.fromEntries([
      ...positionals.map((it) => [it.name, positionalSchema(it, positionalGrammar(command.words, it))]),
      ...flags.map(([name, flag]) => [
        `--${name}`,
        { ...flagSchema(flag, flagGrammar(command.words, name, flag)), description: flagText(flag) },
      ]),
    ]),
    required: [
      ...positionals.filter((it) => !it.optional).map((it) => it.name),
      ...flags.filter(([, flag]) => mustBeTyped(flag)).map(([name]) => `--${name}`),
    ],
    additionalProperties: false,
  };
}

function positionalSchema(positional: Positional, grammar: Grammar | undefined): JsonSchema {
  const written = grammar === undefined ? {} : grammars[grammar];
  const one = { type: 'string', ...written, ...(positional.values && { enum: positional.values }) };
  const about = { description: positional.summary };
  return positional.repeated ? { type: 'array', items: one, ...about } : { ...one, ...about };
}

function flagSchema(flag: Flag, grammar: Grammar | undefined): JsonSchema {
  const written = grammar === undefined ? {} : grammars[grammar];
  const one = { ...scalarSchema(flag), ...written };
  return flag.repeated || flag.type === 'list' ? { type: 'array', items: one } : one;
}

function scalarSchema(flag: Flag): JsonSchema {
  switch (flag.type) {
    case 'boolean':
      return { type: 'boolean' };
    case 'integer':
      return {
        type: 'integer',
        ...(flag.min !== undefined && { minimum: flag.min }),
        ...(flag.max !== undefined && { maximum: flag.max }),
      };
    case 'time':
      return { type: 'string', format: 'date-time' };
    case 'enum':
    case 'list':
      return { type: 'string', ...(flag.values && { enum: flag.values }) };
    case 'string':
    case 'duration':
      return { type: 'string' };
  }
}

const deletedSchema: JsonSchema = {
  type: 'object',
  properties: { deleted: { const: true }, id: { type: 'string' } },
  required: ['deleted', 'id'],
};

const previewSchema: JsonSchema = {
  type: 'object',
  properties: {
    dry_run: { const: true },
    plan: {
      type: 'object',
      properties: {
        operation: { type: 'string' },
        target: {
          type: 'object',
          properties: { kind: { type: 'string' }, id: { type: 'string' }, name: { type: 'string' } },
          required: ['kind', 'id', 'name'],
        },
        changes: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              path: { type: 'string' },
              before: {},
              after: {},
              effect: { enum: ['create', 'update', 'delete'] },
            },
            required: ['path', 'effect'],
          },
        },
        warnings: { type: 'array', items: { type: 'string' } },
        irreversible: { type: 'boolean' },
        fingerprint: { type: 'string' },
      },
      required: ['operation', 'target', 'changes', 'warnings', 'irreversible', 'fingerprint'],
    },
    next: {
      type: 'object',
      description: 'The command that makes the change; argv is empty if there is nothing to do.',
      properties: { argv: { type: 'array', items: { type: 'string' } }, why: { type: 'string' } },
      required: ['argv', 'why'],
    },
  },
  required: ['dry_run', 'plan', 'next'],
};
