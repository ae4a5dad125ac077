import { describe, expect, test } from 'bun:test';
import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { patientMs } from '../../../../scripts/patience.ts';
import { createCleanLine } from './hide-secrets.ts';

const clean = createCleanLine([]);
const esc = '\u001b';

describe('a line of a log', () => {
  test.each([
    ['plain text', 'plain text'],
    ['a\tb', 'a\tb'],
    [`${esc}[31mred${esc}[0m`, `${esc}[31mred${esc}[0m`],
    [`${esc}[1;38;5;200mx`, `${esc}[1;38;5;200mx`],
    ['nul\u0000bell\u0007back\u0008', 'nulbellback'],
    [`${esc}[2Jcleared${esc}[H`, 'cleared'],
    [`${esc}]0;a title\u0007text`, 'text'],
    [`${esc}]8;;http://x${esc}\\link`, 'link'],
    [`${esc}[?25lhidden`, 'hidden'],
    ['\u009b2Jx', 'x'],
    ['10%\r50%\r100%\r', '100%'],
    ['windows\r', 'windows'],
    ['lone \ud800 half', 'lone \ufffd half'],
    [`cut ${esc}`, 'cut '],
    ['日本語 ✓', '日本語 ✓'],
    [`token svcapp_${'a'.repeat(36)}!`, 'token ***!'],
  ])('contains only text and colors: %j', (line, kept) => {
    expect(clean(line)).toBe(kept);
  });

  test('is cut between characters if it is too long', () => {
    const long = clean('é'.repeat(logLineBytesMax));
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(logLineBytesMax);
    expect(long).toMatch(/^é+ \[…\]$/);
    const fits = 'x'.repeat(logLineBytesMax);
    expect(clean(fits)).toBe(fits);
  });

  test('masks secrets as they are, by line, in JSON, in URLs and across a cut', () => {
    const secret = 's3cr3t/"value"';
    const pem = 'first-line-of-it\nsecond-line-of-it\n';
    const hide = createCleanLine([secret, pem, 'short', 'production', 's3cr3t/"value" and more']);
    expect(hide(`a ${secret} b ${secret}`)).toBe('a *** b ***');
    expect(hide('s3cr3t/"value" and more')).toBe('***');
    expect(hide(JSON.stringify({ secret }))).toBe('{"secret":"***"}');
    expect(hide(`http://x/?q=${encodeURIComponent(secret)}`)).toBe('http://x/?q=***');
    expect(hide('  second-line-of-it')).toBe('  ***');
    expect(hide('s3cr\u00003t/"val\u0007ue"')).toBe('***');
    expect(hide('a short word in production')).toBe('a short word in production');
    const atTheEdge = hide(`${'x'.repeat(logLineBytesMax - 10)}${secret}`);
    expect(atTheEdge).not.toContain('s3cr');
  });

  test('masks both parts of a secret that is cut at any position', () => {
    const secret = 'correct-horse-battery';
    const fill = 'x'.repeat(logLineBytesMax);
    for (let first = 0; first <= secret.length; first++) {
      const hide = createCleanLine([secret, 'another-one']);
      const one = hide(`${fill.slice(first)}${secret.slice(0, first)}`, 'stdout');
      // Output of another stream in between does not belong to the line.
      expect(hide(secret.slice(first), 'stderr')).toBe(first === 0 ? '***' : secret.slice(first));
      const other = hide(`${secret.slice(first)} rest`, 'stdout');
      expect([first, other]).toEqual([first, first === secret.length ? ' rest' : '*** rest']);
      expect(one.includes('cor')).toBe(false);
      expect(one.startsWith('xxx')).toBe(true);
    }
  });

  test('masks a secret that is longer than a piece of a line', () => {
    const secret = Array.from({ length: 4_000 }, (_, at) => `<${at}>`).join('');
    const hide = createCleanLine([secret]);
    const whole = `${'x'.repeat(100)}${secret}end`;
    const pieces = whole.match(new RegExp(`.{1,${logLineBytesMax}}`, 'g')) ?? [];
    expect(pieces.length).toBeGreaterThan(2);
    const shown = pieces.map((piece) => hide(piece, 'stdout'));
    expect(shown.join('')).toMatch(/^x{100}(?:\*\*\*)+end$/);
  });

  test('handles long repetitive text quickly', () => {
    const hide = createCleanLine([`${'a'.repeat(30_000)}b`, 'ab'.repeat(10_000)]);
    const begun = performance.now();
    for (let piece = 0; piece < 20; piece++) hide(`${'a'.repeat(logLineBytesMax - 1)}c`, 'stdout');
    expect(performance.now() - begun).toBeLessThan(patientMs(1_000));
  });

  test('has no context from the line before', () => {
    const hide = createCleanLine(['abcdefgh']);
    hide(`${'x'.repeat(logLineBytesMax - 4)}abcd`, 'stdout');
    expect(hide('xx', 'stdout')).toBe('xx');
    expect(hide('efgh', 'stdout')).toBe('efgh');
  });

  test('masks a secret with colors inside, and keeps the colors', () => {
    const hide = createCleanLine(['s3cr3t-value']);
    expect(hide(`a ${esc}[1ms3cr3t${esc}[0m-value b`)).toBe(`a ${esc}[1m***${esc}[0m b`);
    expect(hide(`${esc}[31ms3cr3t-value${esc}[0m s3cr3t-value`)).toBe(`${esc}[31m***${esc}[0m ***`);
    expect(hide(`s3cr3t-v${esc}[2Kalue`)).toBe('***');
  });
});
