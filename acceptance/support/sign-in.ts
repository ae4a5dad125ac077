import { join } from 'node:path';
import { Browser } from './browser.ts';
import { admin } from './commands.ts';
import { type RunningServer, root } from './server.ts';
import { until } from './until.ts';

export interface PasswordUser {
  id: string;
  email: string;
  password: string;
}

export async function newPasswordUser(server: RunningServer, tenant?: string): Promise<PasswordUser> {
  const password = `correct horse ${Bun.randomUUIDv7()}`;
  const email = `signs-in-${Bun.randomUUIDv7().slice(-12)}@example.test`;
  const { id } = await admin(server, ['users', 'create', email, '--password-stdin'], `${password}\n`);
  const member = ['--tenant', tenant ?? '', '--user', id!, '--role', 'tenant_member'];
  if (tenant !== undefined) await admin(server, ['members', 'set', ...member]);
  return { id: id!, email, password };
}

/** `svc login` as it waits for somebody to enter the code. */
export interface WaitingLogin {
  address: string;
  code: string;
  pid: number;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<{ code: number; stdout: string; stderr: string }>;
}

export async function startLogin(
  env: Record<string, string | undefined>,
  flags: string[] = [],
): Promise<WaitingLogin> {
  const child = Bun.spawn([join(root, 'svc'), 'login', ...flags], {
    env: { ...process.env, SVC_TOKEN: '', SVC_API_KEY: '', ...env } as Record<string, string>,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let stderr = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) stderr += decoder.decode(chunk, { stream: true });
  })();
  const ended = (async () => {
    const [stdout, code] = await Promise.all([new Response(child.stdout).text(), child.exited, reading]);
    return { code, stdout, stderr };
  })();
  const shown = await until('svc login shows a code', async () => {
    if (child.exitCode !== null) throw new Error(`svc login ended with ${child.exitCode}: ${stderr}`);
    return /(https?:\/\/\S+).*\b([A-Z]{4}-[A-Z]{4})\b/.exec(stderr);
  });
  const [, address, code] = shown;
  return { address: address!, code: code!, pid: child.pid, kill: (signal) => child.kill(signal), ended };
}

/** Opens the address as a person does, signs in with the password, enters the code, and approves or denies. */
export async function answerLogin(
  login: { address: string; code: string },
  user: PasswordUser,
  answer: 'Approve' | 'Deny',
  browser = new Browser(new URL(login.address).origin),
): Promise<Browser> {
  let page = await browser.open(login.address);
  if (page.html.includes('name="password"'))
    page = await browser.press(page, 'Sign in', { email: user.email, password: user.password });
  page = await browser.press(page, 'Continue', { user_code: login.code });
  if (!page.html.includes(login.code)) throw new Error(`The page does not show the code:\n${page.html}`);
  page = await browser.press(page, answer);
  if (page.status !== 200) throw new Error(`${answer} ended with ${page.status}:\n${page.html}`);
  return browser;
}
