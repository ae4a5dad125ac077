import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Failure } from '../plumbing/problem.ts';
import { SentBody } from './sent-body.ts';

/** The text's bytes, cut at the given places. */
function arriving(text: string, cuts: readonly number[]): SentBody {
  const bytes = Buffer.from(text);
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  );
  const chunks = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
  return new SentBody(chunks, bytes.length);
}

const pieces = (body: SentBody) => [...body.pieces()];

describe('a body', () => {
  test('gives back its text and its lines however it was cut on the way, within a character too', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.toWellFormed());
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
        const text = lines.join('\n').replace(/^\ufeff+/, '');
        const body = arriving(text, cuts);
        expect(body.text()).toBe(text);
        expect(pieces(body).join('')).toBe(text);
        for (const piece of pieces(body).slice(0, -1)) expect(piece.endsWith('\n')).toBe(true);
        expect(body.sha256()).toBe(SentBody.of(text).sha256());
      }),
    );
  });

  test('a long one comes in pieces of whole lines, one line longer than a piece included', () => {
    const long = 'x'.repeat(600_000);
    const text = `a\n${long}\n${'b\n'.repeat(300_000)}c`;
    const found = pieces(SentBody.of(text));
    expect(found.length).toBeGreaterThan(2);
    expect(found.join('')).toBe(text);
    for (const piece of found.slice(0, -1)) expect(piece.endsWith('\n')).toBe(true);
  });

  test('a byte order mark is left out at its beginning only', () => {
    expect(SentBody.of('\ufeff{}').text()).toBe('{}');
    expect(pieces(arriving(`\ufeffa\n\ufeffb\n`, [5]))).toEqual(['a\n', '\ufeffb\n']);
  });

  test('what is not UTF-8 is refused', () => {
    const body = new SentBody([new Uint8Array([0x7b, 0xff, 0x0a])], 3);
    expect(() => body.text()).toThrow(Failure);
    expect(() => pieces(body)).toThrow(Failure);
  });
});
