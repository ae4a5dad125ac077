import { describe, expect, test } from 'bun:test';
import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { createCleanLine } from './clean-line.ts';

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
  ])('holds text and colours alone: %j', (line, kept) => {
    expect(clean(line)).toBe(kept);
  });

  test('is cut where it is too long, between letters', () => {
    const long = clean('é'.repeat(logLineBytesMax));
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(logLineBytesMax);
    expect(long).toMatch(/^é+ \[…\]$/);
    const fits = 'x'.repeat(logLineBytesMax);
    expect(clean(fits)).toBe(fits);
  });

  test('shows no secret: not whole, not line by line, not as it stands in JSON or an address, not cut in half', () => {
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
});
