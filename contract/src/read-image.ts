import type { IconType } from './icons.ts';

export interface ImageFacts {
  type: IconType;
  /** In pixels, from the header only; 0 where unknown. */
  width: number;
  height: number;
}

export function readImage(bytes: Uint8Array): ImageFacts | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const { type, begins, size } of formats) {
    if (!begins(bytes)) continue;
    const [width, height] = size(view);
    return { type, width, height };
  }
  return null;
}

type Size = readonly [width: number, height: number];
const unknown: Size = [0, 0];

interface Format {
  type: IconType;
  begins(bytes: Uint8Array): boolean;
  size(view: DataView): Size;
}

const formats: readonly Format[] = [
  {
    type: 'image/png',
    begins: (bytes) => hasBytes(bytes, 0, '\x89PNG\r\n\x1a\n'),
    size: (view) =>
      view.byteLength >= 24 && text(view, 12) === 'IHDR' ? [view.getUint32(16), view.getUint32(20)] : unknown,
  },
  { type: 'image/jpeg', begins: (bytes) => hasBytes(bytes, 0, '\xff\xd8\xff'), size: sizeOfJpeg },
  {
    type: 'image/webp',
    begins: (bytes) => hasBytes(bytes, 0, 'RIFF') && hasBytes(bytes, 8, 'WEBP'),
    size: sizeOfWebp,
  },
  {
    type: 'image/gif',
    begins: (bytes) => hasBytes(bytes, 0, 'GIF87a') || hasBytes(bytes, 0, 'GIF89a'),
    size: (view) =>
      view.byteLength >= 10 ? [view.getUint16(6, littleEndian), view.getUint16(8, littleEndian)] : unknown,
  },
];

const littleEndian = true;

/** JPEG: segments of any number and length precede the frame header, which has the size. */
function sizeOfJpeg(view: DataView): Size {
  let at = 2;
  while (at + 9 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return unknown;
    const marker = view.getUint8(at + 1);
    // Any number of 0xff bytes may precede a marker.
    if (marker === 0xff) at += 1;
    else if (beginsFrame(marker)) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    // Pixels or the end of the image, without a frame header before.
    else if (marker === 0xda || marker === 0xd9) return unknown;
    else if (standsAlone(marker)) at += 2;
    else at += 2 + Math.max(view.getUint16(at + 2), 2);
  }
  return unknown;
}

// 0xc4, 0xc8 and 0xcc are tables within the range of frame markers.
const beginsFrame = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
const standsAlone = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

function sizeOfWebp(view: DataView): Size {
  if (view.byteLength < 30) return unknown;
  switch (text(view, 12)) {
    case 'VP8 ': {
      const isKeyFrame =
        view.getUint8(23) === 0x9d && view.getUint8(24) === 0x01 && view.getUint8(25) === 0x2a;
      if (!isKeyFrame) return unknown;
      return [view.getUint16(26, littleEndian) & 0x3fff, view.getUint16(28, littleEndian) & 0x3fff];
    }
    case 'VP8L': {
      if (view.getUint8(20) !== 0x2f) return unknown;
      const bits = view.getUint32(21, littleEndian);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    case 'VP8X':
      return [
        (view.getUint32(24, littleEndian) & 0xffffff) + 1,
        (view.getUint32(26, littleEndian) >>> 8) + 1,
      ];
    default:
      return unknown;
  }
}

function text(view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((offset) => view.getUint8(at + offset)));
}

function hasBytes(bytes: Uint8Array, at: number, expected: string): boolean {
  return [...expected].every((char, offset) => bytes[at + offset] === char.charCodeAt(0));
}
