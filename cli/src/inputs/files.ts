import { resolve } from 'node:path';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';

export function inputName(path: string): string {
  return path === '-' ? 'Standard input' : path;
}

export async function readInputText(
  ctx: Ctx,
  path: string,
  { bytesMax }: { bytesMax: number },
): Promise<string> {
  if (path !== '-') return readFileText(resolve(ctx.io.cwd(), path), { bytesMax, shown: path });
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of ctx.io.inputChunks()) {
    size += chunk.byteLength;
    if (size > bytesMax) throw fileTooLargeError(inputName(path), bytesMax);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

interface FileTextOptions {
  bytesMax: number;
  shown?: string;
  tooLargeError?: (shown: string) => Error;
}

/** The text of a regular file or a link to one; reading a pipe or a device might block. The size is checked while reading. */
export async function readFileText(
  path: string,
  { bytesMax, shown = path, tooLargeError = (name) => fileTooLargeError(name, bytesMax) }: FileTextOptions,
): Promise<string> {
  const file = Bun.file(path);
  const entry = await file.stat().catch((cause) => {
    throw fileUnreadableError(shown, cause);
  });
  if (!entry.isFile()) {
    const what = entry.isDirectory() ? 'a folder' : 'not a regular file';
    throw new CliError('file_unreadable', `${shown} is ${what}.`, { next: 'Pass a file.' });
  }
  const bytes = await file
    .slice(0, bytesMax + 1)
    .arrayBuffer()
    .catch((cause) => {
      throw fileUnreadableError(shown, cause);
    });
  if (bytes.byteLength > bytesMax) throw tooLargeError(shown);
  return new TextDecoder().decode(bytes);
}

function fileTooLargeError(shown: string, bytesMax: number): CliError {
  return new CliError('file_unreadable', `${shown} is larger than ${bytesMax / 1024} KiB.`);
}

export async function* fileChunks(file: Bun.BunFile, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* file.stream();
  } catch (cause) {
    throw fileUnreadableError(name, cause);
  }
}

export function fileUnreadableError(name: string, cause: unknown): CliError {
  const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return new CliError('file_unreadable', `${name} cannot be read${why}.`, {
    next: 'Check the path and its permissions.',
    cause,
  });
}
