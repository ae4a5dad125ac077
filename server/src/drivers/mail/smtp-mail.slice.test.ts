import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasSmtpServer, type SmtpServer, startSmtpServer } from '../../../../scripts/smtp-server.ts';
import { placeholderCertificate } from '../certificates/https-server.ts';
import { type MailConfig, type MailMessage, MailRejectedError } from './mail.ts';

import { openSmtpMail } from './smtp-mail.ts';

describe.if(hasSmtpServer)('e-mails to a real mail server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-smtp-'));
  let server: SmtpServer;
  beforeAll(async () => {
    server = await startSmtpServer(join(folder, 'plain'));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const at = (port: number, more: Partial<MailConfig> = {}): MailConfig => ({
    host: '127.0.0.1',
    port,
    tls: 'opportunistic',
    login: null,
    from: { name: 'svc', address: 'svc@mail.example' },
    ...more,
  });
  const message = (more: Partial<MailMessage> = {}): MailMessage => ({
    id: Bun.randomUUIDv7(),
    to: { name: 'Ada', address: 'ada@example.test' },
    subject: 'Hello',
    text: 'As text.',
    html: '<p>As a page.</p>',
    at: new Date('2026-01-31T12:00:00Z'),
    ...more,
  });
  const received = (id: string) => server.mails().filter((mail) => mail.header('message-id').includes(id));

  test('arrive as text and HTML with sender, recipient and message ID', async () => {
    const sent = message({
      subject: 'Größe: 10 €',
      to: { name: 'Ada Lövelace', address: 'ada@example.test' },
    });
    await openSmtpMail(at(server.port)).send(sent);
    const [mail, ...more] = received(sent.id);
    expect(more).toEqual([]);
    expect(mail?.header('message-id')).toBe(`<${sent.id}@mail.example>`);
    expect(mail?.header('subject')).toBe('Größe: 10 €');
    expect(mail?.header('to')).toBe('Ada Lövelace <ada@example.test>');
    expect(mail?.header('from')).toBe('svc <svc@mail.example>');
    expect(mail?.header('auto-submitted')).toBe('auto-generated');
    expect(mail?.header('date')).toBe('Sat, 31 Jan 2026 12:00:00 +0000');
    for (const part of ['As text.', '<p>As a page.</p>']) expect(mail?.text).toContain(part);
  });

  test('cannot be given headers through a name, a subject or an address', async () => {
    const breaks = ['\r\n', '\n', '\r', '\u2028', '\u0085', '\0'];
    for (const line of breaks) {
      const hostile = `Ada${line}Bcc: eve@example.test${line}X-Evil: 1${line}${line}body`;
      const sent = message({
        subject: hostile,
        to: { name: `${hostile}" <eve@example.test>,`, address: 'ada@example.test' },
      });
      await openSmtpMail(at(server.port)).send(sent);
      const [mail] = received(sent.id);
      const names = mail?.headers.map(([name]) => name) ?? [];
      expect(names.filter((name) => ['bcc', 'cc', 'x-evil'].includes(name))).toEqual([]);
      expect([mail?.to, names.filter((name) => name === 'to').length]).toEqual(['ada@example.test', 1]);
    }
    for (const address of [
      'ada@example.test, eve@example.test',
      'ada@example.test\r\nRCPT TO:<eve@example.test>',
      'eve@example.test> <ada@example.test',
      'no address',
    ]) {
      const sending = openSmtpMail(at(server.port)).send(message({ to: { name: '', address } }));
      expect(await sending.catch((error: unknown) => error)).toBeInstanceOf(MailRejectedError);
    }
    expect(server.mails().filter(({ to }) => to.includes('eve'))).toEqual([]);
  });

  test('fail permanently for an unknown recipient, and temporarily without a server', async () => {
    const nobody = message({ to: { name: '', address: 'nobody@example.test' } });
    const refusal = openSmtpMail(at(server.port)).send(nobody);
    expect(await refusal.catch((error: unknown) => error)).toBeInstanceOf(MailRejectedError);
    const closed = await closedPort();
    const failure = await openSmtpMail(at(closed))
      .send(message())
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(MailRejectedError);
  });

  test('send no password without TLS or to an untrusted server', async () => {
    const login = { user: 'svc', password: 'a-secret' };
    const received: string[] = [];
    const listener = createServer((socket) => {
      socket.write('220 mail.example ESMTP\r\n');
      socket.on('data', (data) => {
        received.push(data.toString());
        socket.write(
          /^EHLO/i.test(data.toString()) ? '250-mail.example\r\n250 AUTH PLAIN LOGIN\r\n' : '502 no\r\n',
        );
      });
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const address = listener.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      const bare = openSmtpMail(at(port, { login, tls: 'required' }));
      await expect(bare.check()).rejects.toThrow();
    } finally {
      listener.close();
    }
    expect(received.join('')).toMatch(/^EHLO/);
    expect(received.join('')).not.toContain('AUTH');

    const { cert, key } = placeholderCertificate();
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key);
    const own = await startSmtpServer(join(folder, 'tls'), {
      tls: { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') },
    });
    try {
      const untrusted = openSmtpMail(at(own.port, { login, tls: 'required' }));
      const failure = await untrusted.check().catch((error: unknown) => String(error));
      expect(String(failure)).toMatch(/certificate|self.signed/i);
    } finally {
      await own.stop();
    }
  });

  test('are not sent by a check', async () => {
    const before = server.mails().length;
    await openSmtpMail(at(server.port)).check();
    expect(server.mails().length).toBe(before);
  });
});

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
