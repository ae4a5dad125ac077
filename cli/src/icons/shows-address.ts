import type { Result } from '../command.ts';
import { plain } from '../output.ts';
import type { SignedUpload } from './upload-icon.ts';

/** A preview for people shows the address that was given out above what using it would change. */
export async function showsAddress(
  carryOut: (seen: (signed: SignedUpload) => SignedUpload) => Promise<Result>,
): Promise<Result> {
  let signed: SignedUpload | undefined;
  const result = await carryOut((given) => {
    signed = given;
    return given;
  });
  const { text } = result;
  if (signed === undefined || text === undefined) return result;
  const { put_url, icon_url, expires_at } = signed;
  const lines = Object.entries({ put_url, icon_url, expires_at }).map(
    ([name, value]) => `${name.padEnd(10)}  ${plain(value)}\n`,
  );
  return { ...result, text: (style) => lines.join('') + text(style) };
}
