import { basename } from 'node:path';
import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { bareMediaType } from '@svc/contract/media-types.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { fileUnreadableError } from '../inputs/files.ts';
import { formatBytes, startByteProgress } from '../output/progress.ts';
import { request } from '../session/request.ts';
import { withReadTimeout } from '../session/waiting.ts';
import { writeWholeFile } from './files.ts';
import type { RowsClient } from './rows-client.ts';

/** Describes the file as the column will, before it is uploaded. */
export async function announceRowFile(job: {
  path: string;
  name?: string | undefined;
  contentType?: string | undefined;
}) {
  const entry = await Bun.file(job.path)
    .stat()
    .catch((cause) => {
      throw fileUnreadableError(job.path, cause);
    });
  if (!entry.isFile()) throw usageError(`${job.path} is not a file.`);
  return {
    name: job.name ?? basename(job.path),
    size: entry.size,
    type: job.contentType ?? bareMediaType(job.path),
  };
}

/** The value for the column. */
export async function uploadRowFile(
  ctx: Ctx,
  rows: RowsClient,
  job: { column: string; path: string; announced: Awaited<ReturnType<typeof announceRowFile>> },
): Promise<unknown> {
  const body = JSON.stringify({ column: job.column, ...job.announced });
  const signed = (await rows.call({ method: 'POST', of: 'files', body })).body as {
    file: unknown;
    put_url: string;
    headers: Record<string, string>;
  };
  const { put_url: url, headers } = signed;
  const response = await request(ctx, url, { method: 'PUT', headers, body: Bun.file(job.path) });
  if (response.ok) return signed.file;
  const shown = `${new URL(url).origin}/objects/…`;
  const answer: unknown = await response.json().catch(() => {
    throw new UnexpectedAnswerError(response.status, shown, response.headers.get('x-request-id'));
  });
  throw answerError(response, shown, answer);
}

export async function downloadRowFile(
  ctx: Ctx,
  rows: RowsClient,
  { id, column, to }: { id: string; column: string; to: string | null },
): Promise<Result> {
  const below = `files/${encodeURIComponent(column)}` as const;
  const response = await rows.open({ of: { id, below }, headers: { accept: '*/*' } });
  const length = response.headers.get('content-length');
  const expected = length === null ? null : Number(length);
  const progress = await startByteProgress(ctx, { doing: 'Downloading', bytesTotal: expected });
  let bytes = 0;
  async function* pieces() {
    const reader = (response.body ?? new Blob([]).stream()).getReader();
    try {
      for (;;) {
        const { done, value } = await withReadTimeout(reader.read()).catch((cause) => {
          throw ctx.signal.aborted ? ctx.signal.reason : incompleteError(cause);
        });
        if (done) break;
        bytes += value.byteLength;
        progress.add(value.byteLength);
        yield { text: value };
      }
    } finally {
      reader.cancel().catch(() => undefined);
    }
    if (expected !== null && bytes !== expected) throw incompleteError();
  }
  try {
    if (to !== null) await writeWholeFile(to, pieces());
    else for await (const { text } of pieces()) await ctx.io.out(text);
  } finally {
    progress.clear();
  }
  if (to === null) return { value: null, printed: true };
  return { value: { file: to, bytes }, text: () => `${to}, ${formatBytes(bytes)}.\n` };
}

const incompleteError = (cause?: unknown) =>
  new CliError('no_connection', 'The download is incomplete.', { next: 'Try again.', cause });
