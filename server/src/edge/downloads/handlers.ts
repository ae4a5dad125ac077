import { documentAt, type PathHandler } from '../../http/front.ts';
import { installScript, packCli } from './cli-package.ts';

/** The command line that matches this server, for other machines. */
export function downloadHandlers(baseUrl: string): PathHandler[] {
  let cli: ReturnType<typeof packCli> | undefined;
  return [
    documentAt('/install', async () => {
      const headers = { 'content-type': 'text/x-shellscript; charset=utf-8', 'cache-control': 'no-cache' };
      return new Response(installScript(baseUrl), { headers });
    }),
    documentAt('/cli.tgz', async () => {
      cli ??= packCli();
      return new Response(await cli, {
        headers: { 'content-type': 'application/gzip', 'cache-control': 'no-cache' },
      });
    }),
  ];
}
