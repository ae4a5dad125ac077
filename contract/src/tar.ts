/** Reads POSIX (ustar, pax) and GNU, writes POSIX. An ambiguous header is refused. */
export interface TarHeader {
  name: string;
  type: string;
  size: number;
  linkName: string;
  mode: number;
  modified: Date;
}

export const blockBytes = 512;

export class TarError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TarError';
  }
}

/** Null for a block of zeros, which ends an archive. */
export function parseTarHeader(block: Uint8Array): TarHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  const magic = latin1(block.subarray(257, 263));
  if (magic !== 'ustar\0' && magic !== 'ustar ')
    throw new TarError('The archive is not a tar archive in a supported format.');
  if (octal(block, 148, 8) !== checksum(block)) throw new TarError('A header of the archive is damaged.');
  // GNU stores other fields where POSIX has the start of long names.
  const prefix = magic === 'ustar\0' ? text(block, 345, 155) : '';
  const name = text(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[156] || 0x30),
    size: octal(block, 124, 12),
    linkName: text(block, 157, 100),
    mode: octal(block, 100, 8),
    modified: new Date(octal(block, 136, 12) * 1000),
  };
}

export function parsePax(body: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.byteLength; ) {
    const space = body.indexOf(0x20, at);
    const digits = space < 0 ? '' : latin1(body.subarray(at, space));
    const length = /^[1-9]\d{0,7}$/.test(digits) ? Number(digits) : 0;
    const record = body.subarray(space + 1, at + length);
    const equals = record.indexOf(0x3d);
    if (length === 0 || at + length > body.byteLength || record.at(-1) !== 0x0a || equals < 1)
      throw new TarError('An extended header of the archive is damaged.');
    records.set(utf8(record.subarray(0, equals)), utf8(record.subarray(equals + 1, -1)));
    at += length;
  }
  return records;
}

export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new TarError('A name in the archive is not UTF-8.');
  }
}

function text(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return utf8(end < 0 ? field : field.subarray(0, end));
}

/** The binary form of sizes of 8 GiB and more is refused. */
function octal(block: Uint8Array, at: number, length: number): number {
  const field = latin1(block.subarray(at, at + length));
  const digits = /^ *([0-7]*)[ \0]*$/.exec(field)?.[1];
  if (digits === undefined) throw new TarError('A header of the archive has an invalid number.');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

/** The sum of all bytes, with spaces in place of the checksum field. */
function checksum(block: Uint8Array): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

export type NewTarHeader = Omit<TarHeader, 'linkName' | 'modified'> & { linkName?: string; modified?: Date };

export function tarHeaderBlocks(entry: NewTarHeader): Uint8Array[] {
  const { name, linkName = '', modified = new Date(0), size } = entry;
  const records = [
    needsPax(name) && paxRecord('path', name),
    needsPax(linkName) && paxRecord('linkpath', linkName),
    size > sizeMax && paxRecord('size', String(size)),
  ].filter((record) => record !== false);
  const header = headerBlock({ ...entry, linkName, modified, size: Math.min(size, sizeMax) });
  if (records.length === 0) return [header];
  const pax = encoder.encode(records.join(''));
  const paxHeader = { name: 'pax', type: 'x', size: pax.byteLength, mode: 0o644, linkName: '', modified };
  return [headerBlock(paxHeader), pax, tarPadding(pax.byteLength), header];
}

export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);
}

export function tarEnd(): Uint8Array {
  return new Uint8Array(2 * blockBytes);
}

const encoder = new TextEncoder();
const sizeMax = 0o77777777777;

const needsPax = (text: string) => encoder.encode(text).byteLength > 99 || /[^ -~]/.test(text);

function headerBlock({ name, type, size, mode, linkName, modified }: TarHeader): Uint8Array {
  const block = new Uint8Array(blockBytes);
  const write = (text: string, at: number, length: number) =>
    encoder.encodeInto(text, block.subarray(at, at + length));
  const writeOctal = (value: number, at: number, digits: number) =>
    write(`${value.toString(8).padStart(digits, '0')}\0`, at, digits + 1);
  write(name, 0, 100);
  writeOctal(mode & 0o7777, 100, 7);
  writeOctal(0, 108, 7);
  writeOctal(0, 116, 7);
  writeOctal(size, 124, 11);
  writeOctal(Math.max(0, Math.floor(modified.getTime() / 1000)), 136, 11);
  write(type, 156, 1);
  write(linkName, 157, 100);
  write('ustar\u000000', 257, 8);
  write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, 148, 8);
  return block;
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = encoder.encode(rest).byteLength;
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length++;
  return `${length}${rest}`;
}
