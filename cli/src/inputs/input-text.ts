import type { Ctx } from '../context.ts';
import { fileTooLarge, readFileText } from '../read-file-text.ts';

/** How messages name what was read. */
export function inputName(path: string): string {
  return path === '-' ? 'Standard input' : path;
}

/** The text of a file, or of standard input for `-`; never more than `bytesMax` of it is held. */
export async function readInputText(
  ctx: Ctx,
  path: string,
  { bytesMax }: { bytesMax: number },
): Promise<string> {
  if (path !== '-') return readFileText(path, { bytesMax });
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of ctx.io.inputChunks()) {
    size += chunk.byteLength;
    if (size > bytesMax) throw fileTooLarge(inputName(path), bytesMax);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
