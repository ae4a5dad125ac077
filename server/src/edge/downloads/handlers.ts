import { documentAt, type PathHandler } from '../../http/front.ts';
import { installScript, packCli } from './cli-package.ts';
import { packSdk, type SdkPackage } from './sdk-package.ts';

const archiveHeaders = { 'content-type': 'application/gzip', 'cache-control': 'no-cache' };

/** Packed once, at the first request. */
export function createSdkPackage(): () => Promise<SdkPackage> {
  let sdk: Promise<SdkPackage> | undefined;
  return () => {
    sdk ??= packSdk();
    return sdk;
  };
}

/** The command line and the SDK that match this server, for other machines. */
export function downloadHandlers(baseUrl: string, sdk: () => Promise<SdkPackage>): PathHandler[] {
  let cli: ReturnType<typeof packCli> | undefined;
  return [
    documentAt('/install', async () => {
      const headers = { 'content-type': 'text/x-shellscript; charset=utf-8', 'cache-control': 'no-cache' };
      return new Response(installScript(baseUrl), { headers });
    }),
    documentAt('/cli.tgz', async () => {
      cli ??= packCli();
      return new Response(await cli, { headers: archiveHeaders });
    }),
    documentAt('/sdk.tgz', async () => new Response((await sdk()).tarball, { headers: archiveHeaders })),
  ];
}
