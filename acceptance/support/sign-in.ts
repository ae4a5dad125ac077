import { join } from 'node:path';
import { TestBrowser } from '../../server/src/identity/provider/browser-testing.ts';
import type { PasswordUser } from './people.ts';
import { root } from './server.ts';
import { until } from './until.ts';

/** Starts `svc login` and waits until it shows the code to enter. */
export async function startLogin(env: Record<string, string | undefined>, flags: string[] = []) {
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
  const ended = Promise.all([new Response(child.stdout).text(), child.exited, reading]).then(
    ([stdout, code]) => ({ code, stdout, stderr }),
  );
  const [, address, code] = await until('svc login shows a code', async () => {
    if (child.exitCode !== null) throw new Error(`svc login ended with ${child.exitCode}: ${stderr}`);
    return /(https?:\/\/\S+).*\b([A-Z]{4}-[A-Z]{4})\b/.exec(stderr);
  });
  return {
    address: address!,
    code: code!,
    pid: child.pid,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ended,
  };
}

/** Opens the URL, signs in with the password, enters the code, and approves or denies. */
export async function answerLogin(
  login: { address: string; code: string },
  user: Pick<PasswordUser, 'email' | 'password'>,
  answer: 'Approve' | 'Deny' = 'Approve',
  browser = new TestBrowser(new URL(login.address).origin),
): Promise<TestBrowser> {
  let page = await browser.open(login.address);
  if (page.html.includes('name="password"'))
    page = await browser.press(page, 'Sign in', { email: user.email, password: user.password });
  page = await browser.press(page, 'Continue', { user_code: login.code });
  if (!page.html.includes(login.code)) throw new Error(`The page does not show the code:\n${page.html}`);
  page = await browser.press(page, answer);
  if (page.status !== 200) throw new Error(`${answer} ended with ${page.status}:\n${page.html}`);
  return browser;
}
