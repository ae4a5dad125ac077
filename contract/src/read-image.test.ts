import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { iconTypes } from './icons.ts';
import { readImage } from './read-image.ts';

const hex = (text: string) => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'));
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));

/** Headers as image programs write them, 300 wide and 200 high. */
const images = {
  png: hex('89504e470d0a1a0a 0000000d 49484452 0000012c 000000c8 08000000 00'),
  gif87: hex('474946383761 2c01 c800 80 00 00'),
  gif89: hex('474946383961 2c01 c800 80 00 00'),
  jpeg: hex(
    'ffd8 ffe0 0010 4a464946000101000001000100 00 ffdb 0004 0000 ffc0 000b 08 00c8 012c 01 011100 ffda',
  ),
  'progressive jpeg behind a table of codes': hex(
    'ffd8 ffc4 0004 0000 ffff ffc2 000b 08 00c8 012c 01 011100 ffda',
  ),
  'lossy webp': hex('52494646 00000000 57454250 56503820 00000000 000000 9d012a 2c01 c800'),
  'lossless webp': hex('52494646 00000000 57454250 5650384c 00000000 2f 2bc13100 0000000000'),
  'extended webp': hex('52494646 00000000 57454250 56503858 0a000000 00000000 2b0100 c70000'),
};
const typeOf = (name: string) => `image/${/png|gif|jpeg|webp/.exec(name)?.[0]}`;

describe('the type of an image is read from its content', () => {
  test.each(Object.entries(images))('%s, with its size', (name, bytes) => {
    expect(readImage(bytes)).toEqual({ type: typeOf(name) as never, width: 300, height: 200 });
  });

  test.each([
    ['nothing', ''],
    ['a page', '<!doctype html><script>alert(1)</script>'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['SVG behind its declaration', '<?xml version="1.0"?><svg/>'],
    ['an icon of another kind', '\0\0\x01\0\x01\0\x10\x10\0\0'],
    ['a sound in the same wrapping as WEBP', 'RIFF\0\0\0\0WAVEfmt '],
    ['AVIF', '\0\0\0\x1cftypavif\0\0\0\0'],
    ['the beginning of a PNG in other letters', '\x89png\r\n\x1a\n'],
    ['a PNG that does not begin at once', ' \x89PNG\r\n\x1a\n'],
    ['an old GIF', 'GIF88a\0\0\0\0'],
  ])('%s is not an image', (_, text) => {
    expect(readImage(latin1(text))).toBeNull();
  });

  test('an image that ends before its size has no size', () => {
    for (const [name, bytes] of Object.entries(images)) {
      const [type, before] = [typeOf(name), name === 'jpeg' ? 26 : 9];
      const beginning = bytes.slice(0, name.includes('webp') ? 20 : before);
      expect([name, readImage(beginning)]).toEqual([name, { type: type as never, width: 0, height: 0 }]);
    }
  });
});

describe('arbitrary bytes', () => {
  const beginnings = Object.values(images).flatMap((bytes) =>
    [8, 12, 16, 24].map((end) => bytes.slice(0, end)),
  );
  const garbage = fc.uint8Array({ maxLength: 400 });
  const likely = fc
    .tuple(fc.constantFrom(...beginnings), garbage)
    .map(([beginning, rest]) => new Uint8Array([...beginning, ...rest]));

  test('are read without an error, and the size is never negative', () => {
    fc.assert(
      fc.property(fc.oneof(garbage, likely), (bytes) => {
        const image = readImage(bytes);
        if (image === null) return;
        expect(iconTypes).toContain(image.type);
        for (const side of [image.width, image.height]) {
          expect(Number.isSafeInteger(side)).toBeTrue();
          expect(side).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  test('are read the same at any offset in memory', () => {
    fc.assert(
      fc.property(likely, fc.nat(20), (bytes, shift) => {
        const moved = new Uint8Array(bytes.byteLength + shift).fill(0xff);
        moved.set(bytes, shift);
        expect(readImage(moved.subarray(shift))).toEqual(readImage(bytes));
      }),
    );
  });
});
