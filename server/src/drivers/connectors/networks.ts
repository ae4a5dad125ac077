import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type IpNetworks, normalizeIp, parseNetworks } from '../../core/ip-networks.ts';
import { ConnectorError } from './types.ts';

export interface ConnectorNetworks {
  /** The address to connect to. The name is resolved once: what is checked is what is used. */
  resolve(host: string, port: number): Promise<string>;
}

export interface NetworksOptions {
  /** From `SVC_CONNECTOR_NETWORKS`; null: everything that is not closed by default. */
  allowed: IpNetworks | null;
  /** URLs of the platform's own databases, which no connector may open. */
  ownDatabases: readonly string[];
  lookUp?: (host: string) => Promise<string[]>;
}

/**
 * This machine, link-local addresses, multicast and reserved ranges, with them the metadata services of clouds; some of
 * those have other addresses (AWS over IPv6, Alibaba, Azure, Oracle).
 */
const closedByDefault = parseNetworks(
  [
    ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3', '192.0.0.0/24'],
    ['::/127', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
    ['fd00:ec2::/32', '100.100.100.200', '168.63.129.16'],
  ]
    .flat()
    .join(','),
);

export function createConnectorNetworks(options: NetworksOptions): ConnectorNetworks {
  const lookUp = options.lookUp ?? lookUpAddresses;
  const isOpen = (address: string) =>
    options.allowed ? options.allowed.includes(address) : !closedByDefault.includes(address);

  async function isOwnDatabase(address: string, port: number): Promise<boolean> {
    for (const url of options.ownDatabases) {
      const own = URL.parse(url);
      const host = own?.searchParams.get('host') ?? own?.hostname.replace(/^\[|\]$/g, '') ?? '';
      // At a Unix socket it has no address.
      if (!own || host.startsWith('/')) continue;
      if (Number(own.searchParams.get('port') ?? (own.port || 5432)) !== port) continue;
      const addresses = isIP(host) ? [host] : await lookUp(host);
      if (addresses.some((each) => normalizeIp(each) === address)) return true;
      // A server on this machine usually listens at each of its loopback addresses.
      if (isLoopback(address) && addresses.some(isLoopback)) return true;
    }
    return false;
  }

  return {
    async resolve(host, port) {
      const found = isIP(host) ? [host] : await lookUp(host);
      if (found.length === 0) throw new ConnectorError(`The name ${host} has no address.`);
      for (const each of found) {
        const address = normalizeIp(each);
        if (address === null || !isOpen(address)) continue;
        if (await isOwnDatabase(address, port))
          throw new ConnectorError('A connector cannot open the database of the platform itself.');
        return address;
      }
      throw new ConnectorError(
        `The address of ${host} is in a network that connectors may not use. The operator can allow it with SVC_CONNECTOR_NETWORKS.`,
      );
    },
  };
}

const isLoopback = (address: string) => /^127\.|^::1$/.test(address);

async function lookUpAddresses(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}
