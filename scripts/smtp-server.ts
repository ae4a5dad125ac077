import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { patientMs } from './patience.ts';

const program = '/usr/bin/aiosmtpd';

export const hasSmtpServer = existsSync(program);

export interface SmtpServer {
  host: string;
  port: number;
  url: string;
  mails(): ReceivedMail[];
  stop(): Promise<void>;
}

export interface ReceivedMail {
  headers: [name: string, value: string][];
  header(name: string): string;
  to: string;
  text: string;
}

const startMsMax = patientMs(15_000);

/** Rejects recipients whose address starts with `nobody`. */
const handler = `from aiosmtpd.handlers import Mailbox

class Taking(Mailbox):
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith('nobody'):
            return '550 no such user here'
        envelope.rcpt_tos.append(address)
        return '250 OK'
`;

export async function startSmtpServer(
  folder: string,
  place: { port?: number; tls?: { cert: string; key: string } } = {},
): Promise<SmtpServer> {
  const [host, port] = ['127.0.0.1', place.port ?? freePort()];
  const mailbox = join(folder, 'mailbox');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'svc_handler.py'), handler);
  const tls = place.tls ? ['--tlscert', place.tls.cert, '--tlskey', place.tls.key] : [];
  const line = [program, '-n', '-u', '-l', `${host}:${port}`, ...tls, '-c', 'svc_handler.Taking', mailbox];
  const child = Bun.spawn(['setpriv', '--pdeathsig', 'KILL', ...line], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
    stdin: 'ignore',
    stdout: Bun.file(join(folder, 'aiosmtpd.log')),
    stderr: Bun.file(join(folder, 'aiosmtpd.log')),
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  const until = performance.now() + startMsMax;
  while (!(await answers(host, port))) {
    if (child.exitCode !== null || performance.now() > until) {
      await stop();
      throw new Error(`aiosmtpd did not start: ${readFileSync(join(folder, 'aiosmtpd.log'), 'utf8')}`);
    }
    await Bun.sleep(50);
  }
  const mails = () =>
    existsSync(join(mailbox, 'new'))
      ? readdirSync(join(mailbox, 'new')).map((name) =>
          readMail(readFileSync(join(mailbox, 'new', name), 'utf8')),
        )
      : [];
  return { host, port, url: `smtp://${host}:${port}`, mails, stop };
}

function readMail(raw: string): ReceivedMail {
  const [head = '', ...rest] = raw.replaceAll('\r\n', '\n').split('\n\n');
  const headers = head
    .replace(/\n[ \t]+/g, ' ')
    .split('\n')
    .map((line): [string, string] => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), decodedWords(line.slice(at + 1).trim())];
    });
  const header = (name: string) => headers.find(([each]) => each === name)?.[1] ?? '';
  return { headers, header, to: header('x-rcptto'), text: decodedBody(rest.join('\n\n')) };
}

function decodedWords(value: string): string {
  return value
    .replace(/(\?=)\s+(=\?)/g, '$1$2')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('utf8')
        : quotedPrintable(text.replaceAll('_', ' ')),
    );
}

function decodedBody(body: string): string {
  const inBase64 = /(content-transfer-encoding: base64\n(?:[^\n]+\n)*\n)([A-Za-z0-9+/=\n]+)/gi;
  return quotedPrintable(
    body.replace(
      inBase64,
      (_, head: string, text: string) => head + Buffer.from(text, 'base64').toString('utf8'),
    ),
  );
}

function quotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\n/g, '')
    .replace(/(?:=[0-9A-F]{2})+/g, (run) => Buffer.from(run.replaceAll('=', ''), 'hex').toString('utf8'));
  return bytes;
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('data', () => socket.end('QUIT\r\n', () => resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
