import { expect, test } from 'bun:test';
import { contract } from '@svc/contract/all.ts';
import type { BootstrapParts } from './bootstrap/bootstrap-parts.ts';
import { memoryDns, testPlace } from './domains/testing.ts';
import type { ObjectStore } from './drivers/object-store/object-store.ts';
import { createRawDatabases } from './drivers/raw-database/raw-databases.ts';
import { serverAt } from './drivers/raw-database/raw-server.ts';
import type { GitParts } from './git-connections/git-parts.ts';
import { createLogWaits } from './logs/log-waits.ts';
import { routesOf } from './routes-of.ts';

test('the routes of the server are the endpoints of the contract: none missing, none extra', () => {
  const raw = createRawDatabases({
    installation: 'test',
    server: serverAt('postgresql://nobody@localhost/nothing'),
  });
  const routed = routesOf({
    baseUrl: 'http://localhost:4400',
    appsDomain: 'apps.localhost',
    raw,
    urlKey: 'key',
    domains: testPlace(memoryDns()),
    // Nobody is asked.
    git: {} as GitParts,
    bootstrap: {} as BootstrapParts,
    runtime: { kind: 'process', refuses: async () => null },
    logWaits: createLogWaits({ onChange: () => {} }),
    objects: {} as ObjectStore,
  })
    .map((route) => route.endpoint.id)
    .sort();
  expect(routed).toEqual(contract.map(({ endpoint }) => endpoint.id).sort());
});
