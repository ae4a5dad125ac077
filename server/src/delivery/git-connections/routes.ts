import * as connectionShapes from '@svc/contract/git-connections.shapes.ts';
import * as connections from '@svc/contract/git-connections.ts';
import * as hostShapes from '@svc/contract/git-host.shapes.ts';
import * as host from '@svc/contract/git-host.ts';
import type { DeviceGrant } from '../../drivers/git/git-host.ts';
import { type Route, route, routes } from '../../http/router.ts';
import {
  deleteRepository,
  listGitAccounts,
  listGitInstallations,
  listGitRepositories,
  unlinkGitAccount,
} from './accounts.ts';
import { beginGitConnection, completeGitConnection, prepareCompletion } from './browser-connections.ts';
import {
  connectGit,
  disconnectGit,
  type GitStatusDeps,
  getGitStatus,
  prepareConnect,
  updateGit,
} from './connections.ts';
import {
  type PollResult,
  pollDeviceFlow,
  pollGitLink,
  requestDeviceCode,
  startGitLink,
} from './link-flow.ts';
import type { PreparedConnection } from './repositories.ts';
import type { GitDeps, LinkEvents } from './rules.ts';

export const gitConnectionRoutes = (deps: GitDeps & GitStatusDeps & { linkEvents: LinkEvents }): Route[] => [
  ...routes(host, hostShapes, {
    listGitAccounts: (ctx, { query }) => listGitAccounts(ctx, query),
    unlinkGitAccount: (ctx, { params }) => unlinkGitAccount(ctx, { id: params.account }, deps),
    listGitInstallations: (ctx, { query }) => listGitInstallations(ctx, query, deps),
    listGitRepositories: (ctx, { params, query }) =>
      listGitRepositories(ctx, { installation: params.installation, ...query }, deps),
    deleteGitRepository: (ctx, { params }) => deleteRepository(ctx, params, deps),
  }),
  ...routes(connections, connectionShapes, {
    getGitConnection: (ctx) => getGitStatus(ctx, deps),
    beginGitConnection: (ctx, { body }) => beginGitConnection(ctx, body, deps),
    updateGit: (ctx, { body }) => updateGit(ctx, body),
    disconnectGit,
  }),
  route(
    host.startGitLink,
    hostShapes.startGitLink,
    (ctx, _input, grant: DeviceGrant | null) => startGitLink(ctx, deps, grant),
    { prepare: (_ctx, _input, run) => requestDeviceCode(deps, run) },
  ),
  route(
    host.pollGitLink,
    hostShapes.pollGitLink,
    (ctx, _input, polled: PollResult) => pollGitLink(ctx, deps, polled),
    {
      prepare: (ctx, { body }, { mode }) => pollDeviceFlow(deps, ctx, { text: body.device_code, mode }),
    },
  ),
  route(
    host.completeGitConnection,
    hostShapes.completeGitConnection,
    (ctx, { body }, prepared: PreparedConnection) => completeGitConnection(ctx, body, prepared),
    { prepare: (ctx, { body }) => prepareCompletion(deps, ctx, body) },
  ),
  route(
    connections.connectGit,
    connectionShapes.connectGit,
    (ctx, _input, prepared: PreparedConnection) => connectGit(ctx, prepared),
    {
      prepare: (ctx, { body }, { mode }) => prepareConnect(deps, ctx, { ...body, mode }),
    },
  ),
];
