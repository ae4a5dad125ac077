import type { Env } from './parse.ts';

/** Starts the browser and does not wait for it. Over ssh, or without a display, there is none here. */
export async function openBrowser(url: string, env: Env): Promise<boolean> {
  const program = openerOf(env);
  if (program === null) return false;
  try {
    const opener = Bun.spawn([...program, url], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
    opener.unref();
    return true;
  } catch {
    return false;
  }
}

function openerOf(env: Env): string[] | null {
  if (env.SSH_CONNECTION) return null;
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : null;
}
