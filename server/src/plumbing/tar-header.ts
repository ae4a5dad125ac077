/** One header of a tar archive, by POSIX (ustar, pax) and by GNU. Whatever could be read in two ways is refused. */
export interface TarHeader {
  name: string;
  type: string;
  size: number;
  linkName: string;
}

export const blockBytes = 512;

/** What is wrong with an archive: told to whoever sent it. */
export class BadArchive extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BadArchive';
  }
}

/** Null for a block of zeros, which ends an archive. */
export function parseTarHeader(block: Uint8Array): TarHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  const magic = Buffer.from(block.subarray(257, 263)).toString('latin1');
  if (magic !== 'ustar\0' && magic !== 'ustar ')
    throw new BadArchive('The archive is no tar archive of a known form.');
  if (octal(block, 148, 8) !== sumOf(block)) throw new BadArchive('A header of the archive is damaged.');
  // GNU keeps other things where POSIX has the beginning of long names.
  const prefix = magic === 'ustar\0' ? text(block, 345, 155) : '';
  const name = text(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[156] || 0x30),
    size: octal(block, 124, 12),
    linkName: text(block, 157, 100),
  };
}

/** The records of a pax header: `<length> <key>=<value>\n`. */
export function parsePax(body: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.byteLength; ) {
    const space = body.indexOf(0x20, at);
    const digits = space < 0 ? '' : Buffer.from(body.subarray(at, space)).toString('latin1');
    const length = /^[1-9]\d{0,7}$/.test(digits) ? Number(digits) : 0;
    const record = body.subarray(space + 1, at + length);
    const equals = record.indexOf(0x3d);
    if (length === 0 || at + length > body.byteLength || record.at(-1) !== 0x0a || equals < 1)
      throw new BadArchive('An extended header of the archive is damaged.');
    records.set(utf8(record.subarray(0, equals)), utf8(record.subarray(equals + 1, -1)));
    at += length;
  }
  return records;
}

export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new BadArchive('A name in the archive is not UTF-8.');
  }
}

function text(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return utf8(end < 0 ? field : field.subarray(0, end));
}

/** Sizes of 8 GiB and more have another form, and are refused with it. */
function octal(block: Uint8Array, at: number, length: number): number {
  const field = Buffer.from(block.subarray(at, at + length)).toString('latin1');
  const digits = /^ *([0-7]*)[ \0]*$/.exec(field)?.[1];
  if (digits === undefined)
    throw new BadArchive('A header of the archive holds no number where one belongs.');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

/** Of all bytes, with spaces in place of the sum itself. */
function sumOf(block: Uint8Array): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}
