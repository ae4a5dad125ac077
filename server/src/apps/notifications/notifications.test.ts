import { expect, test } from 'bun:test';
import { cutText, cutTitle, isTooOldToMail } from './notifications.ts';

test('a title is cut to one line of at most 200 characters', () => {
  expect(cutTitle('Shop\r\nBcc: eve@example.test\u2028\0\u200b now ')).toBe('Shop Bcc: eve@example.test now');
  expect(cutTitle('😀'.repeat(200))).toBe('😀'.repeat(200));
  expect(cutTitle('😀'.repeat(201))).toBe(`${'😀'.repeat(199)}…`);
});

test('a text keeps its line breaks and is cut to 2000 characters', () => {
  expect(cutText('one\ntwo\0')).toBe('one\ntwo');
  expect([...cutText('x'.repeat(2001))].length).toBe(2000);
});

test('an e-mail is not sent after a day', () => {
  const created_at = new Date('2026-01-31T12:00:00Z');
  expect(isTooOldToMail({ created_at }, new Date('2026-02-01T11:59:59.999Z'))).toBe(false);
  expect(isTooOldToMail({ created_at }, new Date('2026-02-01T12:00:00Z'))).toBe(true);
});
