import { parseEnv } from 'node:util';
import {
  envNamePattern,
  envNamesReserved,
  envValueBytesMax,
  envVariablesMax,
} from '@svc/contract/deployments.ts';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { readInputText } from '../inputs/input-text.ts';

export interface EnvAsked {
  /** `NAME=value` */
  pairs: readonly string[];
  fromFile: string | undefined;
  /** The name of the variable whose value comes by standard input. */
  stdin: string | undefined;
}

const fileBytesMax = envVariablesMax * envValueBytesMax;

/** What is to be set; what is typed goes before what a file says. No message ever holds a value. */
export async function envWish(
  ctx: Ctx,
  { pairs, fromFile, stdin }: EnvAsked,
): Promise<Record<string, string>> {
  const typed = pairs.map(pairOf);
  const filed = fromFile === undefined ? {} : await fileOf(ctx, fromFile);
  const piped = stdin === undefined ? {} : { [nameOf(stdin)]: await pipedValue(ctx) };
  return { ...filed, ...Object.fromEntries(typed), ...piped };
}

/** The value may hold anything, an equals sign too. */
function pairOf(pair: string, at: number): [string, string] {
  const equals = pair.indexOf('=');
  // What is no pair may be a value by itself, and is not repeated.
  if (equals < 1) throw usage(`Argument ${at + 1} is not of the form NAME=value.`);
  return [nameOf(pair.slice(0, equals)), pair.slice(equals + 1)];
}

export function nameOf(name: string): string {
  if (!envNamePattern.test(name))
    throw usage('A name is made of letters, digits and _, and does not begin with a digit.');
  if (envNamesReserved.test(name)) throw usage(`${name} is given by the platform, and can not be set.`);
  return name;
}

/** As tools read such files. Names that the platform gives are common there, and passed over. */
async function fileOf(ctx: Ctx, path: string): Promise<Record<string, string>> {
  const all = Object.entries(parseEnv(await readInputText(ctx, path, { bytesMax: fileBytesMax })));
  const given = all.filter(([name]) => envNamesReserved.test(name)).map(([name]) => name);
  if (given.length > 0) ctx.note(`Passed over, since the platform gives them: ${given.join(', ')}.`);
  return Object.fromEntries(
    all.filter(([name]) => !envNamesReserved.test(name)).map(([name, value]) => [nameOf(name), value ?? '']),
  );
}

/** One line break at its end is the terminal's, not the value's. */
async function pipedValue(ctx: Ctx): Promise<string> {
  return (await readInputText(ctx, '-', { bytesMax: envValueBytesMax + 2 })).replace(/\r?\n$/, '');
}
