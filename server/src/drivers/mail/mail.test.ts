import { expect, test } from 'bun:test';
import { parseMailFrom, parseSmtpUrl } from './mail.ts';

test('an SMTP URL has host, port, login and TLS', () => {
  expect(parseSmtpUrl('smtp://mail.example')).toEqual({
    host: 'mail.example',
    port: 587,
    login: null,
    tls: 'opportunistic',
  });
  expect(parseSmtpUrl('smtps://svc%40mail.example:p%3A%2Fw@mail.example/')).toEqual({
    host: 'mail.example',
    port: 465,
    tls: 'implicit',
    login: { user: 'svc@mail.example', password: 'p:/w' },
  });
  expect(parseSmtpUrl('smtp://[::1]:2525')).toMatchObject({ host: '::1', port: 2525 });
});

test('a password requires TLS except on this machine', () => {
  expect(parseSmtpUrl('smtp://u:p@mail.example').tls).toBe('required');
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(parseSmtpUrl(`smtp://u:p@${host}:25`).tls).toBe('opportunistic');
});

test('an invalid SMTP URL is rejected without repeating it', () => {
  const notUrls = ['mail.example', 'http://mail.example', 'smtp://', 'smtp://h:99999'];
  const withMore = ['smtp://h/path', 'smtp://h?x=1', 'smtp://h#x'];
  const badLogins = ['smtp://user@h', 'smtp://:secret@h', 'smtp://u:%E0%A4secret@h'];
  for (const wrong of [...notUrls, ...withMore, ...badLogins]) {
    const read = () => parseSmtpUrl(wrong);
    expect(read).toThrow(RangeError);
    expect(read).not.toThrow(/secret/);
  }
});

test('a sender has an address and an optional name', () => {
  expect(parseMailFrom('svc@example.com')).toEqual({ name: '', address: 'svc@example.com' });
  expect(parseMailFrom(' "svc, of ours" <svc@example.com> ')).toEqual({
    name: 'svc, of ours',
    address: 'svc@example.com',
  });
  for (const wrong of ['', 'svc', 'a@b, c@d', 'svc <>', 'a\r\nBcc: x@y <svc@example.com>', '<a@b> <c@d>'])
    expect(() => parseMailFrom(wrong)).toThrow(RangeError);
});
