import type { Config } from '../../config.ts';
import { type Check, type Finding, ok, warning } from './check.ts';

/** Where the server listens, and the address it tells others: browsers and tools are sent to the latter. */
export const address: Check = {
  name: 'address',
  needs: 'config',
  run: async (config) => judge(config),
};

function judge({ host, port, baseUrl }: Config): Finding {
  const url = new URL(baseUrl);
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\])$|\.localhost$/.test(url.hostname);
  const detail = `Listens on ${host}:${port}, known as ${baseUrl}.`;
  if (isLocal && host !== '127.0.0.1' && host !== 'localhost' && host !== '::1') {
    return warning(
      `${detail} Others reach the port, but are sent to their own machine.`,
      'Set SVC_BASE_URL to the address by which others reach the server.',
    );
  }
  if (isLocal && url.protocol === 'http:' && Number(url.port || 80) !== port) {
    return warning(`${detail} The ports differ.`, 'Leave SVC_BASE_URL unset, or name the same port.');
  }
  if (!isLocal && url.protocol === 'http:') {
    return warning(
      `${detail} Passwords and tokens travel unencrypted.`,
      'Put TLS in front, and set SVC_BASE_URL to the https address.',
    );
  }
  if (port < 1024 && process.getuid?.() !== 0) {
    return warning(`${detail} Ports below 1024 need special rights.`, 'Set SVC_PORT to a higher one.');
  }
  return ok(detail);
}
