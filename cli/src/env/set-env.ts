import { parseEnv } from 'node:util';
import {
  changeEnv,
  type envEnvironments,
  envNamePattern,
  envNamesReserved,
  envValueBytesMax,
  envVariablesMax,
} from '@svc/contract/deployments.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { readInputText } from '../inputs/files.ts';
import { mutate } from '../mutation.ts';
import { resolveTenant } from '../session/tenant.ts';
import { effectText, envView } from '../views/apps.ts';

export async function setEnv(
  ctx: Ctx,
  {
    app,
    environment,
    ...input
  }: EnvInput & { app: string; environment: (typeof envEnvironments)[number] | undefined },
): Promise<Result> {
  const set = await readVariables(ctx, input);
  if (Object.keys(set).length === 0) throw usageError('No variable to set.');
  const params = { tenantID: await resolveTenant(ctx), app };
  return mutate(
    redactValues(ctx, input.pairs),
    changeEnv,
    { params, body: { set, environment } },
    {
      view: envView,
      present: (answer) => {
        const isChanged = answer.changed !== false;
        ctx.note(isChanged ? effectText({ app, environment }) : 'The variables already had these values.');
        return answer;
      },
    },
  );
}

function redactValues(ctx: Ctx, pairs: readonly string[]): Ctx {
  const shown = new Map(pairs.map((pair) => [pair, `${pair.slice(0, pair.indexOf('='))}=…`]));
  const argv = ctx.mutation.argv.map((word) => shown.get(word) ?? word);
  return { ...ctx, mutation: { ...ctx.mutation, argv } };
}

export interface EnvInput {
  pairs: readonly string[];
  fromFile: string | undefined;
  stdin: string | undefined;
}

const fileBytesMax = envVariablesMax * envValueBytesMax;

/** Typed values override those of the file. Messages never contain a value. */
export async function readVariables(
  ctx: Ctx,
  { pairs, fromFile, stdin }: EnvInput,
): Promise<Record<string, string>> {
  const typed = pairs.map(parsePair);
  const filed = fromFile === undefined ? {} : await readEnvFile(ctx, fromFile);
  const piped = stdin === undefined ? {} : { [checkName(stdin)]: await readPipedValue(ctx) };
  return { ...filed, ...Object.fromEntries(typed), ...piped };
}

function parsePair(pair: string, at: number): [string, string] {
  const equals = pair.indexOf('=');
  // The argument may be a value, so the message does not repeat it.
  if (equals < 1) throw usageError(`Argument ${at + 1} is not of the form NAME=value.`);
  return [checkName(pair.slice(0, equals)), pair.slice(equals + 1)];
}

export function checkName(name: string): string {
  if (!envNamePattern.test(name))
    throw usageError('A name consists of letters, digits and _, and does not begin with a digit.');
  if (envNamesReserved.test(name)) throw usageError(`${name} is provided by the platform and cannot be set.`);
  return name;
}

/** Ignores names that the platform provides, which are common in such files. */
async function readEnvFile(ctx: Ctx, path: string): Promise<Record<string, string>> {
  const all = Object.entries(parseEnv(await readInputText(ctx, path, { bytesMax: fileBytesMax })));
  const reserved = all.filter(([name]) => envNamesReserved.test(name)).map(([name]) => name);
  if (reserved.length > 0) ctx.note(`Ignored, because the platform provides them: ${reserved.join(', ')}.`);
  return Object.fromEntries(
    all
      .filter(([name]) => !envNamesReserved.test(name))
      .map(([name, value]) => [checkName(name), value ?? '']),
  );
}

async function readPipedValue(ctx: Ctx): Promise<string> {
  return (await readInputText(ctx, '-', { bytesMax: envValueBytesMax + 2 })).replace(/\r?\n$/, '');
}
