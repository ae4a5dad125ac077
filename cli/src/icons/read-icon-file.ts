import { errorCodes } from '@svc/contract/error-codes.ts';
import { iconBytesMax, iconSideMax } from '@svc/contract/icons.ts';
import { type ImageFacts, readImage } from '@svc/contract/read-image.ts';
import { AdvisedProblem, CliError, usage } from '../errors.ts';
import { fileUnreadable } from '../file-chunks.ts';

/** The file and what it is by its content. Judged here as the server judges it, before anything is asked of it. */
export async function readIconFile(
  name: string,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; image: ImageFacts }> {
  const bytes = await readAtMost(name, iconBytesMax);
  const image = readImage(bytes);
  if (image === null)
    throw refused(
      'unsupported_media_type',
      `${name} is no image that can be an icon.`,
      'Give a PNG, JPEG, WEBP or GIF.',
    );
  const isSound = [image.width, image.height].every((side) => side >= 1 && side <= iconSideMax);
  if (isSound) return { bytes, image };
  const found =
    image.width * image.height === 0 ? 'of no known size' : `${image.width} by ${image.height} pixels`;
  throw refused(
    'validation_failed',
    `${name} is ${found}.`,
    `Give an image of 1 to ${iconSideMax} pixels on each side.`,
  );
}

/** Not by its size alone: a pipe has none, and a file may grow while it is read. */
async function readAtMost(name: string, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const file = Bun.file(name);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    if ((await file.stat()).isDirectory()) throw usage(`${name} is a folder.`);
    for await (const chunk of file.stream()) {
      size += chunk.byteLength;
      if (size > bytesMax) throw tooLarge(name, bytesMax);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof CliError || cause instanceof AdvisedProblem) throw cause;
    throw fileUnreadable(name, cause);
  }
  return new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

function tooLarge(name: string, bytesMax: number): AdvisedProblem {
  const limit = `${bytesMax} bytes (${bytesMax / 1024 / 1024} MB)`;
  return refused('payload_too_large', `${name} is larger than ${limit}.`, 'Give a smaller image.');
}

type Refusal = 'unsupported_media_type' | 'payload_too_large' | 'validation_failed';

/** Told as the server tells it. */
function refused(code: Refusal, detail: string, next: string): AdvisedProblem {
  const { status, means } = errorCodes[code];
  return new AdvisedProblem(
    { type: 'about:blank', title: means, status, detail, code, request_id: '' },
    next,
  );
}
