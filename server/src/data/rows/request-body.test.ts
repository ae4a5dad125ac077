import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Failure } from '../../core/problem.ts';
import { ReceivedBody } from './request-body.ts';

/** The text's bytes, split at the given offsets. */
function arriving(text: string, cuts: readonly number[]): ReceivedBody {
  const bytes = Buffer.from(text);
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  );
  const chunks = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
  return new ReceivedBody(chunks, bytes.length);
}

const pieces = (body: ReceivedBody) => [...body.pieces()];

describe('a body', () => {
  test('returns text and lines whatever the chunk boundaries', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.toWellFormed());
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
        const text = lines.join('\n').replace(/^\ufeff+/, '');
        const body = arriving(text, cuts);
        expect(body.text()).toBe(text);
        expect(pieces(body).join('')).toBe(text);
        for (const piece of pieces(body).slice(0, -1)) expect(piece.endsWith('\n')).toBe(true);
        expect(body.sha256()).toBe(ReceivedBody.of(text).sha256());
      }),
    );
  });

  test('splits a long body into pieces of whole lines', () => {
    const long = 'x'.repeat(600_000);
    const text = `a\n${long}\n${'b\n'.repeat(300_000)}c`;
    const found = pieces(ReceivedBody.of(text));
    expect(found.length).toBeGreaterThan(2);
    expect(found.join('')).toBe(text);
    for (const piece of found.slice(0, -1)) expect(piece.endsWith('\n')).toBe(true);
  });

  test('removes a byte order mark at the start only', () => {
    expect(ReceivedBody.of('\ufeff{}').text()).toBe('{}');
    expect(pieces(arriving(`\ufeffa\n\ufeffb\n`, [5]))).toEqual(['a\n', '\ufeffb\n']);
  });

  test('refuses invalid UTF-8', () => {
    const body = new ReceivedBody([new Uint8Array([0x7b, 0xff, 0x0a])], 3);
    expect(() => body.text()).toThrow(Failure);
    expect(() => pieces(body)).toThrow(Failure);
  });
});
