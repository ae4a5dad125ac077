import { CliError } from './errors.ts';

/** A file piece by piece; what goes wrong is told by its name. */
export async function* fileChunks(file: Bun.BunFile, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* file.stream();
  } catch (cause) {
    throw fileUnreadable(name, cause);
  }
}

export function fileUnreadable(name: string, cause: unknown): CliError {
  const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return new CliError('file_unreadable', `${name} can not be read${why}.`, {
    next: 'Check the path, and that you may read it.',
    cause,
  });
}
