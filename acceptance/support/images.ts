import { crc32, deflateSync } from 'node:zlib';

/** Minimal valid images; `bytes` pads to exactly that size. */
export function png({ width = 2, height = 2, bytes = 0 } = {}): Uint8Array<ArrayBuffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits of grey.
  header.writeUInt8(8, 8);
  const pixels = deflateSync(Buffer.alloc((Math.min(width, 16) + 1) * Math.min(height, 16)));
  const parts = [Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header), chunk('IDAT', pixels)];
  return filled([...parts, chunk('IEND', Buffer.alloc(0))], bytes);
}

export function gif({ width = 3, height = 2 } = {}): Uint8Array<ArrayBuffer> {
  const size = Buffer.alloc(4);
  size.writeUInt16LE(width, 0);
  size.writeUInt16LE(height, 2);
  const rest = '80000000000000ffffff2c00000000010001000002024401003b';
  return filled([Buffer.from('GIF89a'), size, Buffer.from(rest, 'hex')], 0);
}

export function jpeg({ width = 5, height = 4 } = {}): Uint8Array<ArrayBuffer> {
  const frame = Buffer.from('ffc0000b08000000000101110000', 'hex');
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  const before = Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex');
  return filled([before, frame, Buffer.from('ffda0008010100003f0000ffd9', 'hex')], 0);
}

export function webp({ width = 7, height = 6 } = {}): Uint8Array<ArrayBuffer> {
  const data = Buffer.alloc(10);
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(22, 0);
  return filled([Buffer.from('RIFF'), size, Buffer.from('WEBPVP8X\x0a\0\0\0', 'latin1'), data], 0);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.byteLength);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

function filled(parts: readonly Buffer[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = Buffer.concat(parts);
  const image = new Uint8Array(Math.max(whole.byteLength, bytes));
  image.set(whole);
  return image;
}
