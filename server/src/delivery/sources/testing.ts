import { gzipSync } from 'node:zlib';

/** A tar archive built by hand, which no usual program would write. */
export interface TestEntry {
  name: string;
  type?: string;
  text?: string | Uint8Array;
  link?: string;
  /** The size in the header, also if the content differs. */
  size?: number;
  magic?: string;
  sum?: number;
}

export function tarOf(entries: readonly TestEntry[], { end = true }: { end?: boolean } = {}): Buffer {
  return Buffer.concat([...entries.map(entryOf), ...(end ? [Buffer.alloc(1024)] : [])]);
}

export function tarGzOf(entries: readonly TestEntry[]): Buffer {
  return gzipSync(tarOf(entries));
}

export function paxOf(records: Record<string, string>, type = 'x'): TestEntry {
  const text = Object.entries(records)
    .map(([key, value]) => {
      const rest = ` ${key}=${value}\n`;
      let length = Buffer.byteLength(rest) + 1;
      while (String(length).length + Buffer.byteLength(rest) !== length) length++;
      return `${length}${rest}`;
    })
    .join('');
  return { name: 'pax', type, text };
}

function entryOf({
  name,
  type = '0',
  text = '',
  link = '',
  magic = 'ustar\u000000',
  size = Buffer.byteLength(text),
  sum,
}: TestEntry): Buffer {
  const body = Buffer.from(text);
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write(magic, 257);
  const checksum = sum ?? header.reduce((all, byte) => all + byte, 0);
  header.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.byteLength % 512)) % 512)]);
}
